/* Loops over the vector maths, as the engine runs them: fast everywhere, careful at the elements
 * outside of the range. */
#include "vector_maths.h"
#ifndef DOUBLE_ONLY
#include "vector_maths32.h"
#endif

#define LOOP(name, NAME, kind, bits, top, fast, out, careful) \
    void fast##_loop(kind *restrict result, const kind *restrict x, long count) { \
        bits far = 0; \
        for (long i = 0; i < count; i++) { \
            far |= out(x[i]); \
            result[i] = fast(x[i]); \
        } \
        for (long i = 0; far >> top && i < count; i++) \
            if (out(x[i]) >> top) result[i] = careful(x[i]); \
    } \
    kind fast##_once(kind x) { \
        return out(x) >> top ? careful(x) : fast(x); \
    } \
    long fast##_outside(const kind *restrict x, long count) { \
        long outside = 0; \
        for (long i = 0; i < count; i++) outside += (long)(out(x[i]) >> top); \
        return outside; \
    }

#define LOOP2(name, NAME, kind, bits, top, fast, out, careful) \
    void fast##_loop(kind *restrict result, const kind *restrict x, const kind *restrict y, \
                     long count) { \
        bits far = 0; \
        for (long i = 0; i < count; i++) { \
            far |= out(x[i], y[i]); \
            result[i] = fast(x[i], y[i]); \
        } \
        for (long i = 0; far >> top && i < count; i++) \
            if (out(x[i], y[i]) >> top) result[i] = careful(x[i], y[i]); \
    } \
    kind fast##_once(kind x, kind y) { \
        return out(x, y) >> top ? careful(x, y) : fast(x, y); \
    } \
    long fast##_outside(const kind *restrict x, const kind *restrict y, long count) { \
        long outside = 0; \
        for (long i = 0; i < count; i++) outside += (long)(out(x[i], y[i]) >> top); \
        return outside; \
    }

#define PAIR(kind, bits, top, fast, out, careful) \
    void fast##_loop(kind *restrict sine, kind *restrict cosine, const kind *restrict x, \
                     long count) { \
        bits far = 0; \
        for (long i = 0; i < count; i++) { \
            far |= out(x[i]); \
            fast(x[i], sine + i, cosine + i); \
        } \
        for (long i = 0; far >> top && i < count; i++) \
            if (out(x[i]) >> top) careful(x[i], sine + i, cosine + i); \
    }

#define BOTH(MAKE, name, NAME) \
    MAKE(name, NAME, double, uint64_t, 63, vm_##name, VM_OUT_##NAME, lm_##name) \
    SINGLE(MAKE, name, NAME)
#ifdef DOUBLE_ONLY
#define SINGLE(MAKE, name, NAME)
#else
#define SINGLE(MAKE, name, NAME) \
    MAKE(name, NAME, float, uint32_t, 31, vf_##name, VF_OUT_##NAME, lf_##name)
PAIR(float, uint32_t, 31, vf_sincos, VF_OUT_SINCOS, lf_sincos)
#endif

PAIR(double, uint64_t, 63, vm_sincos, VM_OUT_SINCOS, lm_sincos)
BOTH(LOOP, sin, SIN)
BOTH(LOOP, cos, COS)
BOTH(LOOP, tan, TAN)
BOTH(LOOP, exp, EXP)
BOTH(LOOP, expm1, EXPM1)
BOTH(LOOP, log, LOG)
BOTH(LOOP, log1p, LOG1P)
BOTH(LOOP, tanh, TANH)
BOTH(LOOP, sinh, SINH)
BOTH(LOOP, cosh, COSH)
BOTH(LOOP, sigmoid, SIGMOID)
BOTH(LOOP, softplus, SOFTPLUS)
BOTH(LOOP, log_sigmoid, LOG_SIGMOID)
BOTH(LOOP, erf, ERF)
BOTH(LOOP, gelu, GELU)
BOTH(LOOP, asin, ASIN)
BOTH(LOOP, acos, ACOS)
BOTH(LOOP, atan, ATAN)
BOTH(LOOP2, atan2, ATAN2)
BOTH(LOOP2, pow, POW)
