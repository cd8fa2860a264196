/* Vector maths in double precision: plain C99 that any compiler vectorises.
 *
 * For each function NAME there are three:
 *   vm_NAME(x)      branch-free and fast; within its range at most 3 ulp from the exact value
 *                   (tan, pow, erf and gelu 4); the same bits for one number and within a loop
 *   VM_OUT_NAME(x)  its top bit is set where x lies outside of that range: huge, subnormal,
 *                   infinite or NaN, as needed
 *   lm_NAME(x)      careful, for any x: what a loop asks at the few elements outside
 *
 * Compile with -ffp-contract=off, or the compiler fuses products into sums where it likes and the
 * same function gives different bits in different loops; and with -fno-math-errno, or the square
 * roots in asin and acos are calls.
 *
 * The functions called ..._polynomial are printed by coefficients.py. Rounding is to nearest. */
#ifndef GRAPHC_VECTOR_MATHS_H
#define GRAPHC_VECTOR_MATHS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "vector_maths.h relies on the order of its sums: compile it without -ffast-math"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "vector_maths.h needs sums rounded to their own type (32-bit x86: -msse2 -mfpmath=sse)"
#endif

/* A function that is not inlined keeps the loop around it from being vectorised. */
#if defined(__GNUC__)
#define VM_INLINE static inline __attribute__((always_inline))
#else
#define VM_INLINE static inline
#endif

/* a * b + c: rounded once where the machine has it in one instruction, otherwise twice. */
#if defined(__FMA__) || defined(__aarch64__)
#define VM_FMA 1
#define vm_fma(a, b, c) fma(a, b, c)
#else
#define VM_FMA 0
#define vm_fma(a, b, c) ((a) * (b) + (c))
#endif

VM_INLINE uint64_t vm_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

VM_INLINE double vm_real(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define VM_SIGN 0x8000000000000000u
#define VM_NORMAL 0x0010000000000000u /* the bits of the smallest normal number */
#define VM_LARGEST 0x1.fffffffffffffp1023
#define VM_ROUND 0x1.8p52 /* adding it rounds to an integer, in the low bits of the sum */

VM_INLINE double vm_abs(double x) {
    return vm_real(vm_bits(x) & ~VM_SIGN);
}

/* x >= 0 with the sign of `sign`: also -0.0, where a sum gave 0.0 */
VM_INLINE double vm_signed(double x, double sign) {
    return vm_real(vm_bits(x) | (vm_bits(sign) & VM_SIGN));
}

/* All bits set where a < b. Choices are made by masks, of which no compiler makes branches. SSE2
 * compares no 64-bit integers, which compilers like to turn this into: there it is the sign of the
 * difference. */
VM_INLINE uint64_t vm_less(double a, double b) {
#if defined(__SSE2__) && !defined(__SSE4_2__)
    return 0 - (vm_bits(a - b) >> 63);
#else
    return 0 - (uint64_t)(a < b);
#endif
}

VM_INLINE double vm_choose(uint64_t mask, double a, double b) {
    return vm_real((vm_bits(a) & mask) | (vm_bits(b) & ~mask));
}

/* The smaller number, or a where it is NaN. */
VM_INLINE double vm_at_most(double a, double limit) {
    return vm_choose(vm_less(limit, a), limit, a);
}

/* The top bit is set where |x| > limit or x is NaN: NaN has larger bits than any number. */
VM_INLINE uint64_t vm_over(double x, double limit) {
    return vm_bits(limit) - vm_bits(vm_abs(x));
}

/* a * b = result + *low exactly (barring underflow) */
VM_INLINE double vm_product(double a, double b, double *low) {
    double high = a * b;
#if VM_FMA
    *low = fma(a, b, -high);
#else
    /* halves, whose products are exact */
    double a1 = vm_real(vm_bits(a) & 0xfffffffff8000000u), a2 = a - a1;
    double b1 = vm_real(vm_bits(b) & 0xfffffffff8000000u), b2 = b - b1;
    *low = a2 * b2 - (((high - a1 * b1) - a2 * b1) - a1 * b2);
#endif
    return high;
}

/* ---- sin, cos, tan ----
 * x = r + n pi/2 with |r| <= pi/4, to within an ulp of r: what is subtracted first is exact, so that
 * r keeps its relative accuracy where x is the nearest number to a multiple of pi/2. */
#if VM_FMA
#define VM_TURNS 0x1p28
#else
#define VM_TURNS 0x1p18 /* n must leave room in the 32 bits of the first parts of pi/2 */
#endif

#define VM_INVERSE_HALF_PI 0x1.45f306dc9c883p-1
#define VM_HALF_PI_1 0x1.921fb54442d18p+0
#define VM_HALF_PI_2 0x1.1a62633145c06p-54
#define VM_HALF_PI_3 0x1.c1cd129024e09p-107
#define VM_HALF_PI_SHORT_1 0x1.921fb544p+0
#define VM_HALF_PI_SHORT_2 0x1.0b4611a6p-34
#define VM_HALF_PI_SHORT_3 0x1.3198a2ep-69
#define VM_HALF_PI_SHORT_4 0x1.b839a252049c1p-104

/* sin(r) = r + r z P(z), cos(r) = 1 - z/2 + z z P(z), z = r * r, |r| <= pi/4 */
/* error 2**-58 */
VM_INLINE double vm_sine_polynomial(double z) {
    double sum = vm_fma(z, 0x1.5d8ee2a287159p-33, -0x1.ae5e57704f175p-26);
    sum = vm_fma(z, sum, 0x1.71de3563f468cp-19);
    sum = vm_fma(z, sum, -0x1.a01a019bf9a22p-13);
    sum = vm_fma(z, sum, 0x1.111111110f7afp-7);
    sum = vm_fma(z, sum, -0x1.5555555555548p-3);
    return sum;
}

/* error 2**-64 */
VM_INLINE double vm_cosine_polynomial(double z) {
    double sum = vm_fma(z, -0x1.8fa3987936e94p-37, 0x1.1ee9d5cf209acp-29);
    sum = vm_fma(z, sum, -0x1.27e4f7e80c03ep-22);
    sum = vm_fma(z, sum, 0x1.a01a019c80a4fp-16);
    sum = vm_fma(z, sum, -0x1.6c16c16c14f6dp-10);
    sum = vm_fma(z, sum, 0x1.555555555554bp-5);
    return sum;
}

/* r; n stands in the low bits of the result */
VM_INLINE uint64_t vm_quarters(double x, double *reduced) {
    double shifted = vm_fma(x, VM_INVERSE_HALF_PI, VM_ROUND), n = shifted - VM_ROUND;
#if VM_FMA
    double r = vm_fma(-n, VM_HALF_PI_1, x);
    r = vm_fma(-n, VM_HALF_PI_2, r);
    r = vm_fma(-n, VM_HALF_PI_3, r);
#else
    double a = x - n * VM_HALF_PI_SHORT_1, w = n * VM_HALF_PI_SHORT_2, b = a - w;
    /* what is subtracted last is 0.0 where n is 0: -0.0 stays -0.0 */
    double r = b - ((w - (a - b)) + (n * VM_HALF_PI_SHORT_3 + n * VM_HALF_PI_SHORT_4));
#endif
    *reduced = r;
    return vm_bits(shifted);
}

VM_INLINE double vm_small_sine(double r, double z) {
    return r * vm_fma(z, vm_sine_polynomial(z), 1.0);
}

VM_INLINE uint64_t VM_OUT_SINCOS(double x) {
    return vm_over(x, VM_TURNS);
}

/* A quarter turn makes cos(r) of sin(r) and -sin(r) of cos(r). */
VM_INLINE void vm_sincos(double x, double *sine, double *cosine) {
    double r;
    uint64_t n = vm_quarters(x, &r), odd = 0 - (n & 1);
    double z = r * r, s = vm_small_sine(r, z);
    double c = vm_fma(z, vm_fma(z, vm_cosine_polynomial(z), -0.5), 1.0);
    *sine = vm_real(vm_bits(vm_choose(odd, c, s)) ^ (n << 62 & VM_SIGN));
    *cosine = vm_real(vm_bits(vm_choose(odd, s, c)) ^ ((n + 1) << 62 & VM_SIGN));
}

VM_INLINE void lm_sincos(double x, double *sine, double *cosine) {
    *sine = sin(x);
    *cosine = cos(x);
}

/* One of two alone: a plan that pairs sin and cos gives the bits of one that does not. */
VM_INLINE uint64_t VM_OUT_SIN(double x) {
    return vm_over(x, VM_TURNS);
}

VM_INLINE double vm_sin(double x) {
    double sine, cosine;
    vm_sincos(x, &sine, &cosine);
    return sine;
}

VM_INLINE double lm_sin(double x) {
    return sin(x);
}

VM_INLINE uint64_t VM_OUT_COS(double x) {
    return vm_over(x, VM_TURNS);
}

VM_INLINE double vm_cos(double x) {
    double sine, cosine;
    vm_sincos(x, &sine, &cosine);
    return cosine;
}

VM_INLINE double lm_cos(double x) {
    return cos(x);
}

VM_INLINE uint64_t VM_OUT_TAN(double x) {
    return vm_over(x, VM_TURNS);
}

/* The cosine is given back what 1 - z/2 rounds away: a quotient has three errors to bear. */
VM_INLINE double vm_tan(double x) {
    double r;
    uint64_t n = vm_quarters(x, &r), odd = 0 - (n & 1);
    double z = r * r, s = vm_small_sine(r, z), half = 0.5 * z, main = 1.0 - half;
    double c = main + vm_fma(z * z, vm_cosine_polynomial(z), (1.0 - main) - half);
    double above = vm_choose(odd, c, s), below = vm_choose(odd, s, c);
    return vm_real(vm_bits(above / below) ^ (odd & VM_SIGN));
}

VM_INLINE double lm_tan(double x) {
    return tan(x);
}

/* ---- exp and its relatives ----
 * x = n log(2) + r with |r| <= log(2)/2, and exp(r) - 1 = r + r r P(r). */
/* error 2**-58 */
VM_INLINE double vm_exponential_polynomial(double r) {
    double rr = r * r;
    double even = vm_fma(rr, 0x1.28b072b432a48p-22, 0x1.a0199668108fap-16);
    even = vm_fma(rr, even, 0x1.6c16c185b6e78p-10);
    even = vm_fma(rr, even, 0x1.555555554ffebp-5);
    even = vm_fma(rr, even, 0x1.000000000000cp-1);
    double odd = vm_fma(rr, 0x1.af85701d52437p-26, 0x1.71dddfde13fa4p-19);
    odd = vm_fma(rr, odd, 0x1.a01a01bad7fd7p-13);
    odd = vm_fma(rr, odd, 0x1.111111110d662p-7);
    odd = vm_fma(rr, odd, 0x1.5555555555561p-3);
    return vm_fma(r, odd, even);
}

#define VM_LOG2_E 0x1.71547652b82fep+0
#define VM_LN2_1 0x1.62e42fefa39efp-1
#define VM_LN2_2 0x1.abc9e3b39803fp-56
#define VM_LN2_SHORT_1 0x1.62e42fefa3p-1
#define VM_LN2_SHORT_2 0x1.3de6af278ece6p-42
#define VM_EXP_RANGE 708.0 /* 2**n and its products stay normal */

/* r; n stands in the low bits of *shifted */
VM_INLINE double vm_exp_reduced(double x, double *shifted) {
    *shifted = vm_fma(x, VM_LOG2_E, VM_ROUND);
    double n = *shifted - VM_ROUND;
#if VM_FMA
    return vm_fma(-n, VM_LN2_2, vm_fma(-n, VM_LN2_1, x));
#else
    return (x - n * VM_LN2_SHORT_1) - n * VM_LN2_SHORT_2; /* the first product is exact */
#endif
}

/* 2**(n + more) */
VM_INLINE double vm_power_of_two(double shifted, unsigned more) {
    return vm_real((vm_bits(shifted) + (1023 + more)) << 52);
}

/* exp(r) - 1, and 2**n */
VM_INLINE double vm_exp_parts(double x, double *power) {
    double shifted, r = vm_exp_reduced(x, &shifted);
    *power = vm_power_of_two(shifted, 0);
    return vm_fma(r * r, vm_exponential_polynomial(r), r);
}

VM_INLINE uint64_t VM_OUT_EXP(double x) {
    return vm_over(x, VM_EXP_RANGE);
}

VM_INLINE double vm_exp(double x) {
    double power, p = vm_exp_parts(x, &power);
    return vm_fma(power, p, power);
}

VM_INLINE double lm_exp(double x) {
    return exp(x);
}

VM_INLINE uint64_t VM_OUT_EXPM1(double x) {
    return vm_over(x, VM_EXP_RANGE);
}

VM_INLINE double vm_expm1(double x) {
    double power, p = vm_exp_parts(x, &power);
    return vm_signed(vm_abs(vm_fma(power, p, power - 1.0)), x);
}

VM_INLINE double lm_expm1(double x) {
    return expm1(x);
}

VM_INLINE uint64_t VM_OUT_TANH(double x) {
    (void)x; /* any x: NaN goes through */
    return 0;
}

/* t / (t + 2) with t = exp(2 |x|) - 1; from 22 on that is 1 */
VM_INLINE double vm_tanh(double x) {
    double power, p = vm_exp_parts(2.0 * vm_at_most(vm_abs(x), 22.0), &power);
    double t = vm_fma(power, p, power - 1.0);
    return vm_signed(t / (t + 2.0), x);
}

VM_INLINE double lm_tanh(double x) {
    return tanh(x);
}

VM_INLINE uint64_t VM_OUT_SINH(double x) {
    return vm_over(x, VM_EXP_RANGE);
}

/* (t + t / (t + 1)) / 2 with t = exp(|x|) - 1 */
VM_INLINE double vm_sinh(double x) {
    double power, p = vm_exp_parts(vm_abs(x), &power);
    double t = vm_fma(power, p, power - 1.0);
    return vm_signed(0.5 * (t + t / (t + 1.0)), x);
}

VM_INLINE double lm_sinh(double x) {
    return sinh(x);
}

VM_INLINE uint64_t VM_OUT_COSH(double x) {
    return vm_over(x, VM_EXP_RANGE);
}

VM_INLINE double vm_cosh(double x) {
    double half = 0.5 * vm_exp(vm_abs(x));
    return half + 0.25 / half;
}

VM_INLINE double lm_cosh(double x) {
    return cosh(x);
}

VM_INLINE uint64_t VM_OUT_SIGMOID(double x) {
    return vm_over(x, VM_EXP_RANGE);
}

VM_INLINE double vm_sigmoid(double x) {
    return 1.0 / (1.0 + vm_exp(-x));
}

/* No exponential overflows, and a small value keeps its digits. */
VM_INLINE double lm_sigmoid(double x) {
    double small = exp(-fabs(x));
    return (x < 0.0 ? small : 1.0) / (1.0 + small);
}

/* ---- log and its relatives ----
 * x = 2**n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]; with s = f / (2 + f), z = s s:
 * log(1 + f) = 2 s + s z P(z) = f - (h - s (h + z P(z))), h = f f / 2, where nothing large is
 * rounded twice. */
/* error 2**-59 */
VM_INLINE double vm_logarithm_polynomial(double z) {
    double sum = vm_fma(z, 0x1.2f0d8a4a487b7p-3, 0x1.39a0f5c0f11cep-3);
    sum = vm_fma(z, sum, 0x1.746646218741ep-3);
    sum = vm_fma(z, sum, 0x1.c71c51e8413a8p-3);
    sum = vm_fma(z, sum, 0x1.24924942172adp-2);
    sum = vm_fma(z, sum, 0x1.999999997fb3cp-2);
    sum = vm_fma(z, sum, 0x1.5555555555593p-1);
    return sum;
}

#define VM_ROOT_HALF 0x3fe6a09e667f3bcdu /* the bits of sqrt(1/2) */

/* 1 + f, and n */
VM_INLINE double vm_log_reduced(double x, double *n) {
    /* 1100: n + 1100 is positive */
    uint64_t shifted = vm_bits(x) - VM_ROOT_HALF + ((uint64_t)1100 << 52);
    *n = vm_real((shifted >> 52) | 0x4330000000000000u) - (0x1p52 + 1100.0);
    return vm_real((shifted & 0x000fffffffffffffu) + VM_ROOT_HALF);
}

/* log(x) + low */
VM_INLINE double vm_log_plus(double x, double low) {
    double n, f = vm_log_reduced(x, &n) - 1.0, s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    double tail = vm_fma(n, VM_LN2_SHORT_2, low);
    tail = vm_fma(s, vm_fma(z, vm_logarithm_polynomial(z), h), tail);
    return vm_fma(n, VM_LN2_SHORT_1, f - (h - tail)); /* this product is exact */
}

VM_INLINE uint64_t VM_OUT_LOG(double x) {
    return vm_bits(x) | (vm_bits(x) - VM_NORMAL) | vm_over(x, VM_LARGEST);
}

VM_INLINE double vm_log(double x) {
    return vm_log_plus(x, 0.0);
}

VM_INLINE double lm_log(double x) {
    return log(x);
}

VM_INLINE uint64_t VM_OUT_LOG1P(double x) {
    return vm_bits(x + 0x1.fffffffffffffp-1) | vm_over(x, 0x1p1000); /* x <= -1, or large */
}

/* log(1 + x) + what 1 + x rounds away, over 1 + x */
VM_INLINE double vm_log1p(double x) {
    double sum = 1.0 + x, lost = x - (sum - 1.0);
    double y = vm_log_plus(sum, lost / sum);
    return vm_choose(vm_less(vm_abs(x), 0x1p-54), x, y); /* also -0.0 */
}

VM_INLINE double lm_log1p(double x) {
    return log1p(x);
}

/* the same with f in [0, 1] and no reduction: |s| <= 1/3 */
/* error 2**-59 */
VM_INLINE double vm_unit_logarithm_polynomial(double z) {
    double zz = z * z;
    double even = vm_fma(zz, 0x1.5562bafa78a42p-4, 0x1.10669f84fe7b5p-3);
    even = vm_fma(zz, even, 0x1.745cb2f040294p-3);
    even = vm_fma(zz, even, 0x1.249249207c60cp-2);
    even = vm_fma(zz, even, 0x1.5555555555534p-1);
    double odd = vm_fma(zz, 0x1.5cc119bfea47cp-3, 0x1.efea53a59f677p-4);
    odd = vm_fma(zz, odd, 0x1.3b1df1f182462p-3);
    odd = vm_fma(zz, odd, 0x1.c71c742432385p-3);
    odd = vm_fma(zz, odd, 0x1.99999999a0954p-2);
    return vm_fma(z, odd, even);
}

VM_INLINE uint64_t VM_OUT_SOFTPLUS(double x) {
    return vm_over(x, VM_EXP_RANGE);
}

/* max(x, 0) + log(1 + exp(-|x|)) */
VM_INLINE double vm_softplus(double x) {
    double f = vm_exp(-vm_abs(x)), s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    double logarithm = f - (h - s * vm_fma(z, vm_unit_logarithm_polynomial(z), h));
    return 0.5 * (x + vm_abs(x)) + logarithm;
}

VM_INLINE double lm_softplus(double x) {
    return (x < 0.0 ? 0.0 : x) + log1p(exp(-fabs(x)));
}

VM_INLINE uint64_t VM_OUT_LOG_SIGMOID(double x) {
    return vm_over(x, VM_EXP_RANGE);
}

VM_INLINE double vm_log_sigmoid(double x) {
    return -vm_softplus(-x);
}

VM_INLINE double lm_log_sigmoid(double x) {
    return (x > 0.0 ? 0.0 : x) - log1p(exp(-fabs(x)));
}

/* ---- erf and gelu ----
 * erf(x) = x + x P(x x) for |x| < 1. Beyond, with t = 1 - 4 / (|x| + 2), which runs from -1 at 0 to
 * 1 at infinity, erfc(|x|) = exp(-x x) P(t) / (|x| + 2). */
/* error 2**-57 */
VM_INLINE double vm_error_polynomial(double z) {
    double zz = z * z;
    double even = vm_fma(zz, 0x1.d70aaa0a887e2p-27, 0x1.b97f73e19d873p-20);
    even = vm_fma(zz, even, 0x1.f9a2ba0d007e8p-14);
    even = vm_fma(zz, even, 0x1.565bccf901b8fp-8);
    even = vm_fma(zz, even, 0x1.ce2f21a040ccap-4);
    even = vm_fma(zz, even, 0x1.06eba8214db68p-3);
    double odd = vm_fma(zz, -0x1.ab7ca3fa3512bp-31, -0x1.5c04d16aeeafep-23);
    odd = vm_fma(zz, odd, -0x1.f4ca43e200b9ep-17);
    odd = vm_fma(zz, odd, -0x1.c02db03777114p-11);
    odd = vm_fma(zz, odd, -0x1.b82ce311f95a5p-6);
    odd = vm_fma(zz, odd, -0x1.812746b0379bcp-2);
    return vm_fma(z, odd, even);
}

/* error 2**-58 */
VM_INLINE double vm_error_tail_polynomial(double t) {
    double tt = t * t;
    double even = vm_fma(tt, 0x1.327178e0d72abp-13, -0x1.5bcbde7de9a2p-11);
    even = vm_fma(tt, even, 0x1.9517fa683bb1ep-9);
    even = vm_fma(tt, even, -0x1.606e41561242ep-6);
    even = vm_fma(tt, even, 0x1.1e2deea6aee13p-2);
    even = vm_fma(tt, even, 0x1.058671b52c779p+0);
    double odd = vm_fma(tt, 0x1.7da18c5ebf068p-15, 0x1.1a6d9c865afe5p-15);
    odd = vm_fma(tt, odd, -0x1.b6fe9e0da82dap-11);
    odd = vm_fma(tt, odd, 0x1.a89eb56898898p-8);
    odd = vm_fma(tt, odd, -0x1.2a88e6121fc15p-5);
    odd = vm_fma(tt, odd, -0x1.5fd386754ef7p-1);
    return vm_fma(t, odd, even);
}

VM_INLINE uint64_t VM_OUT_ERF(double x) {
    (void)x; /* any x: NaN goes through */
    return 0;
}

VM_INLINE double vm_erf(double x) {
    double a = vm_at_most(vm_abs(x), 6.0), z = a * a; /* from 6 on it is 1 */
    double near = vm_fma(a, vm_error_polynomial(z), a);
    /* z is rounded, but beyond 1 there is so little of erfc in erf that it does not show */
    double w = 1.0 / (a + 2.0), power, p = vm_exp_parts(-z, &power);
    double scaled = power * (w * vm_error_tail_polynomial(vm_fma(-4.0, w, 1.0)));
    double far = 1.0 - vm_fma(scaled, p, scaled);
    return vm_signed(vm_choose(vm_less(a, 1.0), near, far), x);
}

VM_INLINE double lm_erf(double x) {
    return erf(x);
}

/* Phi(x) = 1/2 + x / sqrt(2 pi) + x z P(z), z = x x, for |x| < 1. Beyond,
 * a Phi(-a) = exp(-a a / 2) P(t) with t = (a - 4) / (a + 4): this P only grows from 0.26 to 0.4. */
/* error 2**-62 */
VM_INLINE double vm_normal_polynomial(double z) {
    double zz = z * z;
    double even = vm_fma(zz, -0x1.e57a287cac623p-34, -0x1.621b35d226b85p-25);
    even = vm_fma(zz, even, -0x1.3ce8f92cec29cp-17);
    even = vm_fma(zz, even, -0x1.37403f6b8528ap-10);
    even = vm_fma(zz, even, -0x1.1058377e2ceddp-4);
    double odd = vm_fma(zz, 0x1.1b33c0b73cfe7p-38, 0x1.37f6e480f6456p-29);
    odd = vm_fma(zz, odd, 0x1.6589deaa98b2ep-21);
    odd = vm_fma(zz, odd, 0x1.e42b0d45eea09p-14);
    odd = vm_fma(zz, odd, 0x1.46d0429768da9p-7);
    return vm_fma(z, odd, even);
}

/* error 2**-57 */
VM_INLINE double vm_normal_tail_polynomial(double t) {
    double tt = t * t;
    double even = vm_fma(tt, 0x1.48c1e2004d546p-26, -0x1.12ae74fa68b7dp-23);
    even = vm_fma(tt, even, 0x1.5f65f5a333d5cp-21);
    even = vm_fma(tt, even, -0x1.b81e41539a6c3p-19);
    even = vm_fma(tt, even, 0x1.2cd95fa756548p-16);
    even = vm_fma(tt, even, -0x1.e8a4e9b4ec892p-14);
    even = vm_fma(tt, even, 0x1.ce76f6a3a171ap-11);
    even = vm_fma(tt, even, -0x1.691976f9fd91p-8);
    even = vm_fma(tt, even, -0x1.024df8efd3989p-4);
    even = vm_fma(tt, even, -0x1.c41d6bcaf850ap-4);
    even = vm_fma(tt, even, 0x1.82b4bb8c94dcep-2);
    double odd = vm_fma(tt, -0x1.22c615ada51f1p-26, 0x1.6861d6fdb0f94p-25);
    odd = vm_fma(tt, odd, 0x1.b65ea82d2782cp-23);
    odd = vm_fma(tt, odd, -0x1.5d8b261fd6ed1p-19);
    odd = vm_fma(tt, odd, 0x1.16d0dd6303f88p-16);
    odd = vm_fma(tt, odd, -0x1.99ff1207b1f38p-15);
    odd = vm_fma(tt, odd, -0x1.e4abd3bc3eadbp-11);
    odd = vm_fma(tt, odd, 0x1.b0ffe01dacbc8p-6);
    odd = vm_fma(tt, odd, 0x1.9adc525a9034p-4);
    odd = vm_fma(tt, odd, 0x1.2dda040d62d0cp-4);
    return vm_fma(t, odd, even);
}

#define VM_NORMAL_DENSITY 0x1.9884533d43651p-2

VM_INLINE uint64_t VM_OUT_GELU(double x) {
    return vm_over(x, 0x1p1000);
}

/* x Phi(x) = max(x, 0) - |x| Phi(-|x|): a small value keeps its digits. */
VM_INLINE double vm_gelu(double x) {
    double all = vm_abs(x), z = x * x;
    double near = x * (vm_fma(x, VM_NORMAL_DENSITY, 0.5) + x * z * vm_normal_polynomial(z));
    /* from 39 on Phi(-a) is 0; every digit of the square counts, it is an exponent */
    double a = vm_at_most(all, 39.0), low, square = vm_product(a, a, &low);
    double shifted, r = vm_exp_reduced(-0.5 * square, &shifted) - 0.5 * low;
    double p = vm_fma(r * r, vm_exponential_polynomial(r), r);
    double tail = vm_normal_tail_polynomial((a - 4.0) / (a + 4.0));
    /* the power alone would be subnormal */
    tail = vm_fma(tail, p, tail) * vm_power_of_two(shifted, 200) * 0x1p-200;
    return vm_signed(vm_choose(vm_less(all, 1.0), near, 0.5 * (x + all) - tail), x);
}

VM_INLINE double lm_gelu(double x) {
    /* NaN at -infinity, as 0 * infinity is */
    return fabs(x) <= 0x1p1000 ? vm_gelu(x) : x * (0.5 * erfc(-x));
}

/* ---- asin, acos, atan, atan2 ----
 * asin(r) = r + r z P(z), z = r r, |r| <= 1/2; beyond, pi/2 - 2 asin(sqrt((1 - |x|) / 2)) */
/* error 2**-60 */
VM_INLINE double vm_arc_sine_polynomial(double z) {
    double zz = z * z;
    double even = vm_fma(zz, 0x1.0bcfdecc7629bp-5, 0x1.64c49c612095bp-6);
    even = vm_fma(zz, even, 0x1.6179ed6c6b034p-7);
    even = vm_fma(zz, even, 0x1.ca20d267ce6b7p-7);
    even = vm_fma(zz, even, 0x1.6e8bdf96b27fcp-6);
    even = vm_fma(zz, even, 0x1.6db6db7222b8ep-5);
    even = vm_fma(zz, even, 0x1.5555555555578p-3);
    double odd = vm_fma(zz, -0x1.59aa62fa8a647p-6, 0x1.e23ec9150267fp-9);
    odd = vm_fma(zz, odd, 0x1.757addf8d03bfp-7);
    odd = vm_fma(zz, odd, 0x1.1c49e32f29eebp-6);
    odd = vm_fma(zz, odd, 0x1.f1c71a8ea8fe7p-6);
    odd = vm_fma(zz, odd, 0x1.333333332dfdap-4);
    return vm_fma(z, odd, even);
}

#define VM_QUARTER_PI_1 0x1.921fb54442d18p-1
#define VM_QUARTER_PI_2 0x1.1a62633145c07p-55
#define VM_TAN_EIGHTH 0x1.a827999fcef32p-2
#define VM_COT_EIGHTH 0x1.3504f333f9de6p+1

VM_INLINE uint64_t VM_OUT_ASIN(double x) {
    (void)x; /* any x: sqrt makes NaN of what is outside of [-1, 1] */
    return 0;
}

VM_INLINE double vm_asin(double x) {
    double a = vm_abs(x);
    uint64_t far = vm_less(0.5, a);
    double z = vm_choose(far, 0.5 * (1.0 - a), a * a), r = vm_choose(far, sqrt(z), a);
    double tail = r * z * vm_arc_sine_polynomial(z);
    double beyond = 2.0 * VM_QUARTER_PI_1 - (2.0 * r + (2.0 * tail - 2.0 * VM_QUARTER_PI_2));
    return vm_signed(vm_choose(far, beyond, r + tail), x);
}

VM_INLINE double lm_asin(double x) {
    return asin(x);
}

VM_INLINE uint64_t VM_OUT_ACOS(double x) {
    (void)x;
    return 0;
}

/* pi/2 - asin(x) near 0; 2 asin(sqrt((1 - |x|) / 2)) beyond, from pi for negative x */
VM_INLINE double vm_acos(double x) {
    double a = vm_abs(x);
    uint64_t far = vm_less(0.5, a), negative = vm_less(x, 0.0);
    double z = vm_choose(far, 0.5 * (1.0 - a), a * a), r = vm_choose(far, 2.0 * sqrt(z), x);
    double tail = r * z * vm_arc_sine_polynomial(z);
    double sign = vm_choose(far & ~negative, -1.0, 1.0); /* of what is subtracted from the angle */
    double quarters = vm_choose(far, vm_choose(negative, 4.0, 0.0), 2.0);
    r = sign * r;
    tail = sign * tail;
    return vm_fma(quarters, VM_QUARTER_PI_1, -r) + vm_fma(quarters, VM_QUARTER_PI_2, -tail);
}

VM_INLINE double lm_acos(double x) {
    return acos(x);
}

/* atan(r) = r + r z P(z), z = r r, |r| <= tan(pi/8) */
/* error 2**-59 */
VM_INLINE double vm_arc_tangent_polynomial(double z) {
    double zz = z * z;
    double even = vm_fma(zz, -0x1.251cd28903886p-6, -0x1.9cc4b6f5dc304p-5);
    even = vm_fma(zz, even, -0x1.10eb80a4faa56p-4);
    even = vm_fma(zz, even, -0x1.745cf89394064p-4);
    even = vm_fma(zz, even, -0x1.24924922a66p-3);
    even = vm_fma(zz, even, -0x1.555555555553cp-2);
    double odd = vm_fma(zz, 0x1.37b2295deeca3p-5, 0x1.df0c294e8c128p-5);
    odd = vm_fma(zz, odd, 0x1.3b1114260e1dbp-4);
    odd = vm_fma(zz, odd, 0x1.c71c70e373839p-4);
    odd = vm_fma(zz, odd, 0x1.9999999995736p-3);
    return vm_fma(z, odd, even);
}

/* The angle of (x, y), both positive, in three sectors: from the x axis, the diagonal and the y
 * axis, so that one short quotient is left; for a mirrored x, from the other end. The multiples of
 * pi/4 are exact (its last bits are 0). */
VM_INLINE double vm_angle(double y, double x, uint64_t mirrored) {
    uint64_t above = vm_less(VM_TAN_EIGHTH * x, y), steep = vm_less(VM_COT_EIGHTH * x, y);
    double numerator = vm_choose(steep, -x, vm_choose(above, y - x, y));
    double denominator = vm_choose(steep, y, vm_choose(above, y + x, x));
    double quarters = vm_choose(steep, 2.0, vm_choose(above, 1.0, 0.0));
    double r = numerator / denominator, z = r * r;
    double tail = r * z * vm_arc_tangent_polynomial(z);
    uint64_t sign = mirrored & VM_SIGN;
    quarters = vm_choose(mirrored, 4.0 - quarters, quarters);
    r = vm_real(vm_bits(r) ^ sign);
    tail = vm_real(vm_bits(tail) ^ sign);
    return quarters * VM_QUARTER_PI_1 + (r + vm_fma(quarters, VM_QUARTER_PI_2, tail));
}

VM_INLINE uint64_t VM_OUT_ATAN(double x) {
    (void)x; /* any x: infinity is steep, NaN goes through */
    return 0;
}

VM_INLINE double vm_atan(double x) {
    return vm_signed(vm_angle(vm_abs(x), 1.0, 0), x);
}

VM_INLINE double lm_atan(double x) {
    return atan(x);
}

VM_INLINE uint64_t VM_OUT_ATAN2(double y, double x) {
    uint64_t origin = (vm_bits(vm_abs(y)) | vm_bits(vm_abs(x))) - 1; /* below 0 where both are 0 */
    return origin | vm_over(y, 0x1p1021) | vm_over(x, 0x1p1021);
}

VM_INLINE double vm_atan2(double y, double x) {
    return vm_signed(vm_angle(vm_abs(y), vm_abs(x), 0 - (vm_bits(x) >> 63)), y);
}

VM_INLINE double lm_atan2(double y, double x) {
    return atan2(y, x);
}

/* ---- pow ----
 * exp(y log(x)), where the error of log(x) is multiplied by up to 700: it is needed to 65 bits, a
 * number and its rest. log(1 + f) = 2 s + s z (2/3 + z P(z)). Without fused products the rests cost
 * so much that libm is faster. */
/* error 2**-66 */
VM_INLINE double vm_power_logarithm_polynomial(double z) {
    double sum = vm_fma(z, 0x1.0e4a148cb7e6cp-3, 0x1.0f7f23ee6e9e2p-3);
    sum = vm_fma(z, sum, 0x1.3b1ef43a492a2p-3);
    sum = vm_fma(z, sum, 0x1.745ce9b7adf43p-3);
    sum = vm_fma(z, sum, 0x1.c71c722de0859p-3);
    sum = vm_fma(z, sum, 0x1.2492492457828p-2);
    sum = vm_fma(z, sum, 0x1.9999999999b33p-2);
    return sum;
}

#if VM_FMA
#define VM_TWO_THIRDS_1 0x1.5555555555555p-1
#define VM_TWO_THIRDS_2 0x1.5555555555555p-55

/* log(x), and what it rounds away; s2 is the rest of s, and so on */
VM_INLINE double vm_log_wide(double x, double *rest) {
    double n, f = vm_log_reduced(x, &n) - 1.0;
    double d = 2.0 + f, d2 = f - (d - 2.0), w = 1.0 / d;
    double s = f * w, s2 = (vm_fma(-s, d, f) - s * d2) * w;
    double z2, z = vm_product(s, s, &z2);
    z2 = vm_fma(2.0 * s, s2, z2);
    double b = z * vm_power_logarithm_polynomial(z);
    double c = VM_TWO_THIRDS_1 + b, c2 = (b - (c - VM_TWO_THIRDS_1)) + VM_TWO_THIRDS_2;
    double k2, k = vm_product(s, z, &k2); /* the cube of s */
    k2 = vm_fma(s, z2, vm_fma(s2, z, k2));
    double v2, v = vm_product(k, c, &v2);
    v2 = vm_fma(k, c2, vm_fma(k2, c, v2));
    double g = 2.0 * s + v, g2 = ((2.0 * s - g) + v) + (2.0 * s2 + v2); /* log(1 + f) */
    double whole = n * VM_LN2_SHORT_1, sum = whole + g;
    *rest = ((whole - sum) + g) + vm_fma(n, VM_LN2_SHORT_2, g2);
    return sum;
}

/* A zero, subnormal, infinite or NaN x is libm's, a negative x too unless y is an integer; so is a
 * result that might overflow or be subnormal: |log2(x)| is at most 2 |x - 1| near 1, and elsewhere
 * at most 0.0861 more than the exponent with the mantissa as its digits. */
VM_INLINE uint64_t VM_OUT_POW(double x, double y) {
    double a = vm_abs(x), distance = vm_abs(a - 1.0);
    double digits = vm_real((vm_bits(a) >> 12) | 0x4330000000000000u) - (0x1p52 + 0x3ffp40);
    double bound =
        vm_choose(vm_less(0.5, distance), vm_fma(0x1p-40, vm_abs(digits), 0.0861), 2.0 * distance);
    double whole = (y + VM_ROUND) - VM_ROUND;
    uint64_t fraction = vm_less(0.0, vm_abs(y - whole));
    return (vm_bits(x) & fraction) | (vm_bits(a) - VM_NORMAL) | vm_over(x, VM_LARGEST) |
           vm_over(y, 0x1p51) | vm_over(y * bound, 1020.0);
}

/* The last sum is the only one whose rounding shows: a power that is a number comes out exactly. */
VM_INLINE double vm_pow(double x, double y) {
    double rest, logarithm = vm_log_wide(vm_abs(x), &rest);
    double product2, product = vm_product(y, logarithm, &product2);
    product2 = vm_fma(y, rest, product2);
    double shifted = vm_fma(product, VM_LOG2_E, VM_ROUND), n = shifted - VM_ROUND;
    double r1 = vm_fma(-n, VM_LN2_1, product), r2 = vm_fma(-n, VM_LN2_2, product2);
    /* exp(r + lost) = (1 + r) + (r r P(r) + lost (1 + r)) */
    double r = r1 + r2, lost = (r1 - r) + r2;
    double tail = vm_fma(r * r, vm_exponential_polynomial(r), vm_fma(lost, r, lost));
    double sum = 1.0 + r;
    double value = (sum + ((r - (sum - 1.0)) + tail)) * vm_power_of_two(shifted, 0);
    uint64_t odd = vm_bits(y + VM_ROUND) << 63;
    return vm_real(vm_bits(value) ^ (vm_bits(x) & odd));
}
#else
VM_INLINE uint64_t VM_OUT_POW(double x, double y) {
    (void)x;
    (void)y;
    return 0;
}

VM_INLINE double vm_pow(double x, double y) {
    return pow(x, y);
}
#endif

VM_INLINE double lm_pow(double x, double y) {
    return pow(x, y);
}

#endif
