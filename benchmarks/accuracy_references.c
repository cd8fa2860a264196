/* What the vector maths is measured against: the exact value, nearly, by the long double functions
 * of libm. */
#include <math.h>

static long double sigmoidl(long double x) {
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}
static long double softplusl(long double x) {
    return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
}
static long double log_sigmoidl(long double x) {
    return (x < 0 ? x : 0) - log1pl(expl(-fabsl(x)));
}
/* The rounding of x / sqrt(2) is mended by the slope of erfc: the square in its exponent would make
 * it large. */
static long double gelul(long double x) {
    long double root = 0.707106781186547524400844362104849039L, a = -x * root;
    long double low = fmal(-x, root, -a) - x * 1.895032558893257e-20L;
    long double slope = 1.128379167095512573896158903121545172L * expl(-a * a);
    return x * 0.5L * (erfcl(a) - (slope > 0 ? slope * low : 0));
}

/* The distance from the exact value in units of the last place of a number with `digits` bits, or
 * 1e9. */
static double ulps(long double value, long double exact, int digits, int lowest) {
    int exponent;
    if (isnan(value) && isnan(exact)) return 0;
    if (isnan(value) || isnan(exact)) return 1e9;
    frexpl(exact, &exponent);
    if (exponent < lowest) exponent = lowest;
    if (isinf(value) || isinf(exact)) /* what rounds to infinity may be infinite */
        return value == exact ||
                       (isinf(value) && exponent > 3 - lowest && (value > 0) == (exact > 0))
                   ? 0
                   : 1e9;
    return (double)(fabsl(value - exact) / ldexpl(1, exponent - digits));
}

#define MEASURE(name, kind, digits, lowest, suffix) \
    double name##_##suffix(const kind *value, const kind *x, long count, long *where) { \
        double worst = 0; \
        for (long i = 0; i < count; i++) { \
            double here = ulps(value[i], name##l(x[i]), digits, lowest); \
            if (here > worst) worst = here, *where = i; \
        } \
        return worst; \
    }
#define MEASURE2(name, kind, digits, lowest, suffix) \
    double name##_##suffix(const kind *value, const kind *x, const kind *y, long count, \
                           long *where) { \
        double worst = 0; \
        for (long i = 0; i < count; i++) { \
            double here = ulps(value[i], name##l(x[i], y[i]), digits, lowest); \
            if (here > worst) worst = here, *where = i; \
        } \
        return worst; \
    }
#define BOTH(MAKE, name) \
    MAKE(name, double, 53, -1021, vm) \
    MAKE(name, float, 24, -125, vf)

BOTH(MEASURE, sin)
BOTH(MEASURE, cos)
BOTH(MEASURE, tan)
BOTH(MEASURE, exp)
BOTH(MEASURE, expm1)
BOTH(MEASURE, log)
BOTH(MEASURE, log1p)
BOTH(MEASURE, tanh)
BOTH(MEASURE, sinh)
BOTH(MEASURE, cosh)
BOTH(MEASURE, sigmoid)
BOTH(MEASURE, softplus)
BOTH(MEASURE, log_sigmoid)
BOTH(MEASURE, erf)
BOTH(MEASURE, gelu)
BOTH(MEASURE, asin)
BOTH(MEASURE, acos)
BOTH(MEASURE, atan)
BOTH(MEASURE2, atan2)
BOTH(MEASURE2, pow)
