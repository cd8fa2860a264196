/* The same functions by libm, for their time: called one by one, or by libmvec. */
#include <math.h>

#define LOOP(name, kind, suffix, formula) \
    void name##_##suffix(kind *restrict result, const kind *restrict a, long count) { \
        for (long i = 0; i < count; i++) { \
            kind x = a[i]; \
            result[i] = formula; \
        } \
    }
#define LOOP2(name, kind, suffix, formula) \
    void name##_##suffix(kind *restrict result, const kind *restrict a, const kind *restrict b, \
                         long count) { \
        for (long i = 0; i < count; i++) { \
            kind x = a[i], y = b[i]; \
            result[i] = formula; \
        } \
    }
#define BOTH(name) LOOP(name, double, vm, name(x)) LOOP(name, float, vf, name##f(x))

BOTH(sin)
BOTH(cos)
BOTH(tan)
BOTH(exp)
BOTH(expm1)
BOTH(log)
BOTH(log1p)
BOTH(tanh)
BOTH(sinh)
BOTH(cosh)
BOTH(erf)
BOTH(asin)
BOTH(acos)
BOTH(atan)
LOOP2(atan2, double, vm, atan2(x, y))
LOOP2(atan2, float, vf, atan2f(x, y))
LOOP2(pow, double, vm, pow(x, y))
LOOP2(pow, float, vf, powf(x, y))
LOOP(sigmoid, double, vm, 1.0 / (1.0 + exp(-x)))
LOOP(sigmoid, float, vf, 1.0f / (1.0f + expf(-x)))
LOOP(softplus, double, vm, (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))))
LOOP(softplus, float, vf, (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x))))
LOOP(log_sigmoid, double, vm, (x < 0.0 ? x : 0.0) - log1p(exp(-fabs(x))))
LOOP(log_sigmoid, float, vf, (x < 0.0f ? x : 0.0f) - log1pf(expf(-fabsf(x))))
LOOP(gelu, double, vm, x * 0.5 * erfc(x * -0.70710678118654752440))
LOOP(gelu, float, vf, x * 0.5f * erfcf(x * -0.70710678f))
void sincos_vm(double *restrict sine, double *restrict cosine, const double *restrict x,
               long count) {
    for (long i = 0; i < count; i++) sine[i] = sin(x[i]), cosine[i] = cos(x[i]);
}
void sincos_vf(float *restrict sine, float *restrict cosine, const float *restrict x, long count) {
    for (long i = 0; i < count; i++) sine[i] = sinf(x[i]), cosine[i] = cosf(x[i]);
}
