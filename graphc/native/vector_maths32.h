/* Vector maths in single precision: vector_maths.h with shorter polynomials, and the same three
 * functions for each NAME.
 *
 *   vf_NAME(x)      branch-free and fast; within its range at most 3 ulp from the exact value
 *                   (tan, pow, erf and gelu 4)
 *   VF_OUT_NAME(x)  its top bit (of 32) is set where x lies outside of that range
 *   lf_NAME(x)      careful, for any x
 *
 * The comments of vector_maths.h tell how each function is reduced; here stands what is different.
 */
#ifndef GRAPHC_VECTOR_MATHS32_H
#define GRAPHC_VECTOR_MATHS32_H

#include "vector_maths.h"

#if VM_FMA
#define vf_fma(a, b, c) fmaf(a, b, c)
#else
#define vf_fma(a, b, c) ((a) * (b) + (c))
#endif

VM_INLINE uint32_t vf_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

VM_INLINE float vf_real(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define VF_SIGN 0x80000000u
#define VF_NORMAL 0x00800000u
#define VF_LARGEST 0x1.fffffep127f
#define VF_ROUND 0x1.8p23f

VM_INLINE float vf_abs(float x) {
    return vf_real(vf_bits(x) & ~VF_SIGN);
}

VM_INLINE float vf_signed(float x, float sign) {
    return vf_real(vf_bits(x) | (vf_bits(sign) & VF_SIGN));
}

VM_INLINE uint32_t vf_less(float a, float b) {
    return 0 - (uint32_t)(a < b);
}

VM_INLINE float vf_choose(uint32_t mask, float a, float b) {
    return vf_real((vf_bits(a) & mask) | (vf_bits(b) & ~mask));
}

VM_INLINE float vf_at_most(float a, float limit) {
    return vf_choose(vf_less(limit, a), limit, a);
}

VM_INLINE uint32_t vf_over(float x, float limit) {
    return vf_bits(limit) - vf_bits(vf_abs(x));
}

VM_INLINE float vf_product(float a, float b, float *low) {
    float high = a * b;
#if VM_FMA
    *low = fmaf(a, b, -high);
#else
    float a1 = vf_real(vf_bits(a) & 0xfffff000u), a2 = a - a1;
    float b1 = vf_real(vf_bits(b) & 0xfffff000u), b2 = b - b1;
    *low = a2 * b2 - (((high - a1 * b1) - a2 * b1) - a1 * b2);
#endif
    return high;
}

/* ---- sin, cos, tan ----
 * The ranges are shorter: the product with 2/pi must still tell the nearest multiple. */
#if VM_FMA
#define VF_TURNS 0x1p15f
#else
#define VF_TURNS 0x1p12f /* n must leave room in the 11 bits of the first parts of pi/2 */
#endif

#define VF_INVERSE_HALF_PI 0x1.45f306p-1f
#define VF_HALF_PI_1 0x1.921fb4p+0f
#define VF_HALF_PI_2 0x1.4442dp-24f
#define VF_HALF_PI_3 0x1.84698ap-48f
#define VF_HALF_PI_SHORT_1 0x1.92p+0f
#define VF_HALF_PI_SHORT_2 0x1.fb4p-12f
#define VF_HALF_PI_SHORT_3 0x1.444p-24f
#define VF_HALF_PI_SHORT_4 0x1.68c234p-39f

/* error 2**-28 */
VM_INLINE float vf_sine_polynomial(float z) {
    float sum = vf_fma(z, -0x1.99421p-13f, 0x1.110736p-7f);
    sum = vf_fma(z, sum, -0x1.555546p-3f);
    return sum;
}

/* error 2**-33 */
VM_INLINE float vf_cosine_polynomial(float z) {
    float sum = vf_fma(z, 0x1.99e9eap-16f, -0x1.6c0c2ep-10f);
    sum = vf_fma(z, sum, 0x1.55554ap-5f);
    return sum;
}

VM_INLINE uint32_t vf_quarters(float x, float *reduced) {
    float shifted = vf_fma(x, VF_INVERSE_HALF_PI, VF_ROUND), n = shifted - VF_ROUND;
#if VM_FMA
    float r = vf_fma(-n, VF_HALF_PI_1, x);
    r = vf_fma(-n, VF_HALF_PI_2, r);
    r = vf_fma(-n, VF_HALF_PI_3, r);
#else
    float a = x - n * VF_HALF_PI_SHORT_1, w = n * VF_HALF_PI_SHORT_2, b = a - w;
    float v = n * VF_HALF_PI_SHORT_3, c = b - v;
    float r = c - (((w - (a - b)) + (v - (b - c))) + n * VF_HALF_PI_SHORT_4);
#endif
    *reduced = r;
    return vf_bits(shifted);
}

VM_INLINE float vf_small_sine(float r, float z) {
    return r * vf_fma(z, vf_sine_polynomial(z), 1.0f);
}

VM_INLINE uint32_t VF_OUT_SINCOS(float x) {
    return vf_over(x, VF_TURNS);
}

VM_INLINE void vf_sincos(float x, float *sine, float *cosine) {
    float r;
    uint32_t n = vf_quarters(x, &r), odd = 0 - (n & 1);
    float z = r * r, s = vf_small_sine(r, z);
    float c = vf_fma(z, vf_fma(z, vf_cosine_polynomial(z), -0.5f), 1.0f);
    *sine = vf_real(vf_bits(vf_choose(odd, c, s)) ^ (n << 30 & VF_SIGN));
    *cosine = vf_real(vf_bits(vf_choose(odd, s, c)) ^ ((n + 1) << 30 & VF_SIGN));
}

VM_INLINE void lf_sincos(float x, float *sine, float *cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}

VM_INLINE uint32_t VF_OUT_SIN(float x) {
    return vf_over(x, VF_TURNS);
}

VM_INLINE float vf_sin(float x) {
    float sine, cosine;
    vf_sincos(x, &sine, &cosine);
    return sine;
}

VM_INLINE float lf_sin(float x) {
    return sinf(x);
}

VM_INLINE uint32_t VF_OUT_COS(float x) {
    return vf_over(x, VF_TURNS);
}

VM_INLINE float vf_cos(float x) {
    float sine, cosine;
    vf_sincos(x, &sine, &cosine);
    return cosine;
}

VM_INLINE float lf_cos(float x) {
    return cosf(x);
}

VM_INLINE uint32_t VF_OUT_TAN(float x) {
    return vf_over(x, VF_TURNS);
}

VM_INLINE float vf_tan(float x) {
    float r;
    uint32_t n = vf_quarters(x, &r), odd = 0 - (n & 1);
    float z = r * r, s = vf_small_sine(r, z), half = 0.5f * z, main = 1.0f - half;
    float c = main + vf_fma(z * z, vf_cosine_polynomial(z), (1.0f - main) - half);
    float above = vf_choose(odd, c, s), below = vf_choose(odd, s, c);
    return vf_real(vf_bits(above / below) ^ (odd & VF_SIGN));
}

VM_INLINE float lf_tan(float x) {
    return tanf(x);
}

/* ---- exp and its relatives ---- */
/* error 2**-28 */
VM_INLINE float vf_exponential_polynomial(float r) {
    float sum = vf_fma(r, 0x1.6db3ep-10f, 0x1.123b94p-7f);
    sum = vf_fma(r, sum, 0x1.55545ep-5f);
    sum = vf_fma(r, sum, 0x1.55548ep-3f);
    sum = vf_fma(r, sum, 0x1p-1f);
    return sum;
}

#define VF_LOG2_E 0x1.715476p+0f
#define VF_LN2_1 0x1.62e42ep-1f
#define VF_LN2_2 0x1.efa39ep-25f
#define VF_LN2_SHORT_1 0x1.62e4p-1f
#define VF_LN2_SHORT_2 0x1.7f7d1cp-20f
#define VF_EXP_RANGE 87.0f

VM_INLINE float vf_exp_reduced(float x, float *shifted) {
    *shifted = vf_fma(x, VF_LOG2_E, VF_ROUND);
    float n = *shifted - VF_ROUND;
#if VM_FMA
    return vf_fma(-n, VF_LN2_2, vf_fma(-n, VF_LN2_1, x));
#else
    return (x - n * VF_LN2_SHORT_1) - n * VF_LN2_SHORT_2;
#endif
}

VM_INLINE float vf_power_of_two(float shifted, unsigned more) {
    return vf_real((vf_bits(shifted) + (127 + more)) << 23);
}

VM_INLINE float vf_exp_parts(float x, float *power) {
    float shifted, r = vf_exp_reduced(x, &shifted);
    *power = vf_power_of_two(shifted, 0);
    return vf_fma(r * r, vf_exponential_polynomial(r), r);
}

VM_INLINE uint32_t VF_OUT_EXP(float x) {
    return vf_over(x, VF_EXP_RANGE);
}

VM_INLINE float vf_exp(float x) {
    float power, p = vf_exp_parts(x, &power);
    return vf_fma(power, p, power);
}

VM_INLINE float lf_exp(float x) {
    return expf(x);
}

VM_INLINE uint32_t VF_OUT_EXPM1(float x) {
    return vf_over(x, VF_EXP_RANGE);
}

VM_INLINE float vf_expm1(float x) {
    float power, p = vf_exp_parts(x, &power);
    return vf_signed(vf_abs(vf_fma(power, p, power - 1.0f)), x);
}

VM_INLINE float lf_expm1(float x) {
    return expm1f(x);
}

VM_INLINE uint32_t VF_OUT_TANH(float x) {
    (void)x;
    return 0;
}

VM_INLINE float vf_tanh(float x) {
    float power, p = vf_exp_parts(2.0f * vf_at_most(vf_abs(x), 10.0f), &power);
    float t = vf_fma(power, p, power - 1.0f);
    return vf_signed(t / (t + 2.0f), x);
}

VM_INLINE float lf_tanh(float x) {
    return tanhf(x);
}

VM_INLINE uint32_t VF_OUT_SINH(float x) {
    return vf_over(x, VF_EXP_RANGE);
}

VM_INLINE float vf_sinh(float x) {
    float power, p = vf_exp_parts(vf_abs(x), &power);
    float t = vf_fma(power, p, power - 1.0f);
    return vf_signed(0.5f * (t + t / (t + 1.0f)), x);
}

VM_INLINE float lf_sinh(float x) {
    return sinhf(x);
}

VM_INLINE uint32_t VF_OUT_COSH(float x) {
    return vf_over(x, VF_EXP_RANGE);
}

VM_INLINE float vf_cosh(float x) {
    float half = 0.5f * vf_exp(vf_abs(x));
    return half + 0.25f / half;
}

VM_INLINE float lf_cosh(float x) {
    return coshf(x);
}

VM_INLINE uint32_t VF_OUT_SIGMOID(float x) {
    return vf_over(x, VF_EXP_RANGE);
}

VM_INLINE float vf_sigmoid(float x) {
    return 1.0f / (1.0f + vf_exp(-x));
}

VM_INLINE float lf_sigmoid(float x) {
    float small = expf(-fabsf(x));
    return (x < 0.0f ? small : 1.0f) / (1.0f + small);
}

/* ---- log and its relatives ---- */
/* error 2**-30 */
VM_INLINE float vf_logarithm_polynomial(float z) {
    float sum = vf_fma(z, 0x1.31e65cp-2f, 0x1.995e9cp-2f);
    sum = vf_fma(z, sum, 0x1.55557ap-1f);
    return sum;
}

#define VF_ROOT_HALF 0x3f3504f3u

VM_INLINE float vf_log_plus(float x, float low) {
    uint32_t shifted = vf_bits(x) - VF_ROOT_HALF + ((uint32_t)200 << 23);
    float n = vf_real((shifted >> 23) | 0x4b000000u) - (0x1p23f + 200.0f);
    float f = vf_real((shifted & 0x007fffffu) + VF_ROOT_HALF) - 1.0f, s = f / (2.0f + f), z = s * s,
          h = 0.5f * f * f;
    float tail = vf_fma(n, VF_LN2_SHORT_2, low);
    tail = vf_fma(s, vf_fma(z, vf_logarithm_polynomial(z), h), tail);
    return vf_fma(n, VF_LN2_SHORT_1, f - (h - tail));
}

VM_INLINE uint32_t VF_OUT_LOG(float x) {
    return vf_bits(x) | (vf_bits(x) - VF_NORMAL) | vf_over(x, VF_LARGEST);
}

VM_INLINE float vf_log(float x) {
    return vf_log_plus(x, 0.0f);
}

VM_INLINE float lf_log(float x) {
    return logf(x);
}

VM_INLINE uint32_t VF_OUT_LOG1P(float x) {
    return vf_bits(x + 0x1.fffffep-1f) | vf_over(x, 0x1p120f);
}

VM_INLINE float vf_log1p(float x) {
    float sum = 1.0f + x, lost = x - (sum - 1.0f);
    float y = vf_log_plus(sum, lost / sum);
    return vf_choose(vf_less(vf_abs(x), 0x1p-25f), x, y);
}

VM_INLINE float lf_log1p(float x) {
    return log1pf(x);
}

/* error 2**-33 */
VM_INLINE float vf_unit_logarithm_polynomial(float z) {
    float sum = vf_fma(z, 0x1.f1d656p-3f, 0x1.b6cd02p-3f);
    sum = vf_fma(z, sum, 0x1.2509d8p-2f);
    sum = vf_fma(z, sum, 0x1.9996a6p-2f);
    sum = vf_fma(z, sum, 0x1.555558p-1f);
    return sum;
}

VM_INLINE uint32_t VF_OUT_SOFTPLUS(float x) {
    return vf_over(x, VF_EXP_RANGE);
}

VM_INLINE float vf_softplus(float x) {
    float f = vf_exp(-vf_abs(x)), s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
    float logarithm = f - (h - s * vf_fma(z, vf_unit_logarithm_polynomial(z), h));
    return 0.5f * (x + vf_abs(x)) + logarithm;
}

VM_INLINE float lf_softplus(float x) {
    return (x < 0.0f ? 0.0f : x) + log1pf(expf(-fabsf(x)));
}

VM_INLINE uint32_t VF_OUT_LOG_SIGMOID(float x) {
    return vf_over(x, VF_EXP_RANGE);
}

VM_INLINE float vf_log_sigmoid(float x) {
    return -vf_softplus(-x);
}

VM_INLINE float lf_log_sigmoid(float x) {
    return (x > 0.0f ? 0.0f : x) - log1pf(expf(-fabsf(x)));
}

/* ---- erf and gelu ---- */
/* error 2**-30 */
VM_INLINE float vf_error_polynomial(float z) {
    float sum = vf_fma(z, 0x1.49461ep-14f, -0x1.a3ea72p-11f);
    sum = vf_fma(z, sum, 0x1.540412p-8f);
    sum = vf_fma(z, sum, -0x1.b7f8dcp-6f);
    sum = vf_fma(z, sum, 0x1.ce2cf4p-4f);
    sum = vf_fma(z, sum, -0x1.81273ep-2f);
    sum = vf_fma(z, sum, 0x1.06eba8p-3f);
    return sum;
}

/* error 2**-32 */
VM_INLINE float vf_error_tail_polynomial(float t) {
    float sum = vf_fma(t, 0x1.9ccd44p-9f, -0x1.73b4f8p-6f);
    sum = vf_fma(t, sum, -0x1.2bd43p-5f);
    sum = vf_fma(t, sum, 0x1.1e2d6ap-2f);
    sum = vf_fma(t, sum, -0x1.5fd366p-1f);
    sum = vf_fma(t, sum, 0x1.058672p+0f);
    return sum;
}

VM_INLINE uint32_t VF_OUT_ERF(float x) {
    (void)x;
    return 0;
}

VM_INLINE float vf_erf(float x) {
    float a = vf_at_most(vf_abs(x), 4.0f), z = a * a;
    float near = vf_fma(a, vf_error_polynomial(z), a);
    float w = 1.0f / (a + 2.0f), power, p = vf_exp_parts(-z, &power);
    float scaled = power * (w * vf_error_tail_polynomial(vf_fma(-4.0f, w, 1.0f)));
    float far = 1.0f - vf_fma(scaled, p, scaled);
    return vf_signed(vf_choose(vf_less(a, 1.0f), near, far), x);
}

VM_INLINE float lf_erf(float x) {
    return erff(x);
}

/* error 2**-30 */
VM_INLINE float vf_normal_polynomial(float z) {
    float sum = vf_fma(z, -0x1.fa4392p-18f, 0x1.dacbe8p-14f);
    sum = vf_fma(z, sum, -0x1.36ebcep-10f);
    sum = vf_fma(z, sum, 0x1.46cd82p-7f);
    sum = vf_fma(z, sum, -0x1.10583p-4f);
    return sum;
}

/* error 2**-28 */
VM_INLINE float vf_normal_tail_polynomial(float t) {
    float sum = vf_fma(t, 0x1.9d64dp-11f, -0x1.f4a222p-11f);
    sum = vf_fma(t, sum, -0x1.674284p-8f);
    sum = vf_fma(t, sum, 0x1.b11d56p-6f);
    sum = vf_fma(t, sum, -0x1.0251aap-4f);
    sum = vf_fma(t, sum, 0x1.9adbaep-4f);
    sum = vf_fma(t, sum, -0x1.c41d42p-4f);
    sum = vf_fma(t, sum, 0x1.2dda08p-4f);
    sum = vf_fma(t, sum, 0x1.82b4bcp-2f);
    return sum;
}

#define VF_NORMAL_DENSITY 0x1.988454p-2f

VM_INLINE uint32_t VF_OUT_GELU(float x) {
    return vf_over(x, 0x1p120f);
}

VM_INLINE float vf_gelu(float x) {
    float all = vf_abs(x), z = x * x;
    float near = x * (vf_fma(x, VF_NORMAL_DENSITY, 0.5f) + x * z * vf_normal_polynomial(z));
    float a = vf_at_most(all, 15.0f), low, square = vf_product(a, a, &low);
    float shifted, r = vf_exp_reduced(-0.5f * square, &shifted) - 0.5f * low;
    float p = vf_fma(r * r, vf_exponential_polynomial(r), r);
    float tail = vf_normal_tail_polynomial((a - 4.0f) / (a + 4.0f));
    tail = vf_fma(tail, p, tail) * vf_power_of_two(shifted, 60) * 0x1p-60f;
    return vf_signed(vf_choose(vf_less(all, 1.0f), near, 0.5f * (x + all) - tail), x);
}

VM_INLINE float lf_gelu(float x) {
    return fabsf(x) <= 0x1p120f ? vf_gelu(x) : x * (0.5f * erfcf(-x));
}

/* ---- asin, acos, atan, atan2 ---- */
/* error 2**-32 */
VM_INLINE float vf_arc_sine_polynomial(float z) {
    float sum = vf_fma(z, 0x1.33999p-5f, 0x1.d867a6p-7f);
    sum = vf_fma(z, sum, 0x1.049d28p-5f);
    sum = vf_fma(z, sum, 0x1.6cad86p-5f);
    sum = vf_fma(z, sum, 0x1.333884p-4f);
    sum = vf_fma(z, sum, 0x1.55554cp-3f);
    return sum;
}

#define VF_QUARTER_PI_1 0x1.921fbp-1f
#define VF_QUARTER_PI_2 0x1.5110b4p-23f
#define VF_TAN_EIGHTH 0x1.a8279ap-2f
#define VF_COT_EIGHTH 0x1.3504f4p+1f

VM_INLINE uint32_t VF_OUT_ASIN(float x) {
    (void)x;
    return 0;
}

VM_INLINE float vf_asin(float x) {
    float a = vf_abs(x);
    uint32_t far = vf_less(0.5f, a);
    float z = vf_choose(far, 0.5f * (1.0f - a), a * a), r = vf_choose(far, sqrtf(z), a);
    float tail = r * z * vf_arc_sine_polynomial(z);
    float beyond = 2.0f * VF_QUARTER_PI_1 - (2.0f * r + (2.0f * tail - 2.0f * VF_QUARTER_PI_2));
    return vf_signed(vf_choose(far, beyond, r + tail), x);
}

VM_INLINE float lf_asin(float x) {
    return asinf(x);
}

VM_INLINE uint32_t VF_OUT_ACOS(float x) {
    (void)x;
    return 0;
}

VM_INLINE float vf_acos(float x) {
    float a = vf_abs(x);
    uint32_t far = vf_less(0.5f, a), negative = vf_less(x, 0.0f);
    float z = vf_choose(far, 0.5f * (1.0f - a), a * a), r = vf_choose(far, 2.0f * sqrtf(z), x);
    float tail = r * z * vf_arc_sine_polynomial(z);
    float sign = vf_choose(far & ~negative, -1.0f, 1.0f);
    float quarters = vf_choose(far, vf_choose(negative, 4.0f, 0.0f), 2.0f);
    r = sign * r;
    tail = sign * tail;
    return vf_fma(quarters, VF_QUARTER_PI_1, -r) + vf_fma(quarters, VF_QUARTER_PI_2, -tail);
}

VM_INLINE float lf_acos(float x) {
    return acosf(x);
}

/* error 2**-30 */
VM_INLINE float vf_arc_tangent_polynomial(float z) {
    float sum = vf_fma(z, -0x1.f1be7p-5f, 0x1.b1e35cp-4f);
    sum = vf_fma(z, sum, -0x1.23b492p-3f);
    sum = vf_fma(z, sum, 0x1.99919p-3f);
    sum = vf_fma(z, sum, -0x1.55554ap-2f);
    return sum;
}

VM_INLINE float vf_angle(float y, float x, uint32_t mirrored) {
    uint32_t above = vf_less(VF_TAN_EIGHTH * x, y), steep = vf_less(VF_COT_EIGHTH * x, y);
    float numerator = vf_choose(steep, -x, vf_choose(above, y - x, y));
    float denominator = vf_choose(steep, y, vf_choose(above, y + x, x));
    float quarters = vf_choose(steep, 2.0f, vf_choose(above, 1.0f, 0.0f));
    float r = numerator / denominator, z = r * r;
    float tail = r * z * vf_arc_tangent_polynomial(z);
    uint32_t sign = mirrored & VF_SIGN;
    quarters = vf_choose(mirrored, 4.0f - quarters, quarters);
    r = vf_real(vf_bits(r) ^ sign);
    tail = vf_real(vf_bits(tail) ^ sign);
    return quarters * VF_QUARTER_PI_1 + (r + vf_fma(quarters, VF_QUARTER_PI_2, tail));
}

VM_INLINE uint32_t VF_OUT_ATAN(float x) {
    (void)x;
    return 0;
}

VM_INLINE float vf_atan(float x) {
    return vf_signed(vf_angle(vf_abs(x), 1.0f, 0), x);
}

VM_INLINE float lf_atan(float x) {
    return atanf(x);
}

VM_INLINE uint32_t VF_OUT_ATAN2(float y, float x) {
    uint32_t origin = (vf_bits(vf_abs(y)) | vf_bits(vf_abs(x))) - 1;
    return origin | vf_over(y, 0x1p125f) | vf_over(x, 0x1p125f);
}

VM_INLINE float vf_atan2(float y, float x) {
    return vf_signed(vf_angle(vf_abs(y), vf_abs(x), 0 - (vf_bits(x) >> 31)), y);
}

VM_INLINE float lf_atan2(float y, float x) {
    return atan2f(y, x);
}

/* ---- pow ----
 * In double precision, where the logarithm needs no rest; overflow and subnormal results come from
 * the last rounding. */
/* error 2**-45 */
VM_INLINE double vf_power_logarithm_polynomial(double z) {
    double sum = vm_fma(z, 0x1.911c83f68875fp-3, 0x1.c62aa1d0e5c07p-3);
    sum = vm_fma(z, sum, 0x1.249413307d134p-2);
    sum = vm_fma(z, sum, 0x1.999996a68e142p-2);
    sum = vm_fma(z, sum, 0x1.555555561f287p-1);
    return sum;
}

/* error 2**-40 */
VM_INLINE double vf_power_exponential_polynomial(double r) {
    double sum = vm_fma(r, 0x1.a18c30c417fd7p-16, 0x1.a1874055a10ap-13);
    sum = vm_fma(r, sum, 0x1.6c1621e25de9bp-10);
    sum = vm_fma(r, sum, 0x1.1110a1127f9ebp-7);
    sum = vm_fma(r, sum, 0x1.5555558afb2c4p-5);
    sum = vm_fma(r, sum, 0x1.5555557ea81ffp-3);
    sum = vm_fma(r, sum, 0x1.ffffffffeaa6cp-2);
    return sum;
}

#if VM_FMA
VM_INLINE uint32_t VF_OUT_POW(float x, float y) {
    float a = vf_abs(x), distance = vf_abs(a - 1.0f);
    float digits = 0x1p-23f * (float)(int32_t)vf_bits(a) - 127.0f;
    float bound = vf_choose(vf_less(0.5f, distance), vf_abs(digits) + 0.0862f, 2.0f * distance);
    uint32_t small =
        vf_less(vf_abs(y), 0x1p22f); /* beyond, the sum does not tell whether y is whole */
    uint32_t fraction = ~small | vf_less(0.0f, vf_abs(y - ((y + VF_ROUND) - VF_ROUND)));
    return (vf_bits(x) & fraction) | (vf_bits(a) - VF_NORMAL) | vf_over(x, VF_LARGEST) |
           vf_over(y * bound, 1000.0f);
}

VM_INLINE float vf_pow(float x, float y) {
    double n, f = vm_log_reduced((double)vf_abs(x), &n) - 1.0, s = f / (2.0 + f), z = s * s,
              wide = (double)y;
    double logarithm = vm_fma(s * z, vf_power_logarithm_polynomial(z), s + s);
    double shifted, r = vm_exp_reduced(wide * vm_fma(n, VM_LN2_1, logarithm), &shifted);
    double power = vm_power_of_two(shifted, 0);
    float value = (float)vm_fma(power, vm_fma(r * r, vf_power_exponential_polynomial(r), r), power);
    uint32_t odd = (uint32_t)vm_bits(wide + VM_ROUND) << 31;
    return vf_real(vf_bits(value) ^ (vf_bits(x) & odd));
}
#else
VM_INLINE uint32_t VF_OUT_POW(float x, float y) {
    (void)x;
    (void)y;
    return 0;
}

VM_INLINE float vf_pow(float x, float y) {
    return powf(x, y);
}
#endif

VM_INLINE float lf_pow(float x, float y) {
    return powf(x, y);
}

#endif
