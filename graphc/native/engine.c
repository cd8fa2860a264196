/* The native engines: a plan is a list of steps over slots, run over blocks of points or at one.

   A plan comes from program/backends/native/steps.py. It is copied and checked when it is made, and
   only checked plans run: every slot lies inside the plan's memory, whoever wrote the steps. */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "streams.h"
#include "vector_maths.h"
#include "vector_maths32.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* vector code is a wish: libm's loops stay loops */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep") /* a result may stand where an operand stood */
#else
#define INDEPENDENT
#endif
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif
#define STREAMED (8 << 20) /* bytes of results that leave no room in the cache for what comes next */
#define MOST (INT32_MAX / 8) /* of anything in a plan: slots are numbers of 32 bits */

typedef struct {
    int32_t code, out, a, b, c;
} Step;

typedef struct { /* of a kernel, as kernels.h tells */
    int operands, alike, own, pair;
} Form;

/* Slots, in this order: arguments, results, numbers, and blocks of memory, the first of which are
   filled with numbers once and never written. */
typedef struct {
    int64_t steps, arguments, results, numbers, filled, blocks, block;
    int wide; /* 1: double, 0: float */
    Step *step;
    void *number;    /* of the plan's type */
    int32_t *filler; /* which number each filled block holds */
} Plan;

#define TYPED(name) name##_64
#define NAMED(name) TYPED(name)
#define REAL double
#define BITS uint64_t
#define TOP 63
#define LIBM(name) name
#define VECTOR(name) vm_##name
#define CAREFUL(name) lm_##name
#define OUTSIDE(name) VM_OUT_##name
#include "blocks.h"
#undef TYPED
#undef REAL
#undef BITS
#undef TOP
#undef LIBM
#undef VECTOR
#undef CAREFUL
#undef OUTSIDE
#undef CASES

#define TYPED(name) name##_32
#define REAL float
#define BITS uint32_t
#define TOP 31
#define LIBM(name) name##f
#define VECTOR(name) vf_##name
#define CAREFUL(name) lf_##name
#define OUTSIDE(name) VF_OUT_##name
#include "blocks.h"
#undef TYPED
#undef REAL

/* Plans. */

/* The first step that must not run, or -1. A slot is read only after it was written. */
static int64_t first_bad_step(const Plan *plan, bool *written) {
    const int64_t results = plan->arguments, numbers = results + plan->results;
    const int64_t filled = numbers + plan->numbers, blocks = filled + plan->filled;
    const int64_t slots = blocks + plan->blocks;
    for (int64_t slot = 0; slot < slots; slot++)
        written[slot] = slot < results || (slot >= numbers && slot < blocks);
    for (int64_t place = 0; place < plan->steps; place++) {
        const Step *step = plan->step + place;
        if (step->code < 0 || step->code >= KERNELS) return place;
        const Form *form = forms + step->code;
        const int32_t operand[3] = {step->a, step->b, step->c};
        const int32_t result[2] = {step->out, step->b};
        for (int k = 0; k < form->operands; k++) {
            const int32_t slot = operand[k];
            if (slot < 0 || slot >= slots || !written[slot]) return place;
            const bool number = slot >= numbers && slot < filled;
            if (number != (k == form->alike)) return place;
        }
        for (int k = 0; k <= form->pair; k++) {
            const int32_t slot = result[k];
            const bool is_result = slot >= results && slot < numbers;
            if (slot < 0 || slot >= slots || !(is_result || slot >= blocks)) return place;
            if (form->own)
                for (int j = 0; j < form->operands; j++)
                    if (operand[j] == slot) return place;
            written[slot] = true;
        }
        if (form->pair && result[0] == result[1]) return place;
    }
    for (int64_t slot = results; slot < numbers; slot++)
        if (!written[slot]) return plan->steps;
    return -1;
}

EXPORT void graphc_plan_free(Plan *plan) {
    if (!plan) return;
    free(plan->step);
    free(plan->number);
    free(plan->filler);
    free(plan);
}

/* A checked copy; NULL without memory or if a step is bad, which then stands in *bad. */
EXPORT Plan *graphc_plan(int wide, const int64_t *sizes, const int32_t *steps, const double *numbers,
                         const int32_t *fillers, int64_t *bad) {
    *bad = -1;
    for (int k = 0; k < 7; k++)
        if (sizes[k] < 0 || sizes[k] > MOST) {
            *bad = 0;
            return NULL;
        }
    Plan *plan = calloc(1, sizeof *plan);
    if (!plan) return NULL;
    plan->steps = sizes[0];
    plan->arguments = sizes[1];
    plan->results = sizes[2];
    plan->numbers = sizes[3];
    plan->filled = sizes[4];
    plan->blocks = sizes[5];
    plan->block = sizes[6];
    plan->wide = wide != 0;
    const size_t slots =
        (size_t)(plan->arguments + plan->results + plan->numbers + plan->filled + plan->blocks);
    plan->step = malloc(((size_t)plan->steps + 1) * sizeof *plan->step);
    plan->number = malloc(((size_t)plan->numbers + 1) * sizeof(double));
    plan->filler = malloc(((size_t)plan->filled + 1) * sizeof *plan->filler);
    bool *written = malloc(slots + 1);
    if (!plan->step || !plan->number || !plan->filler || !written) {
        free(written);
        graphc_plan_free(plan);
        return NULL;
    }
    if (plan->steps) memcpy(plan->step, steps, (size_t)plan->steps * sizeof *plan->step);
    if (plan->filled) memcpy(plan->filler, fillers, (size_t)plan->filled * sizeof *plan->filler);
    for (int64_t k = 0; k < plan->numbers; k++)
        if (plan->wide)
            ((double *)plan->number)[k] = numbers[k];
        else
            ((float *)plan->number)[k] = (float)numbers[k];
    *bad = plan->block < 1 ? 0 : first_bad_step(plan, written);
    for (int64_t k = 0; k < plan->filled && *bad < 0; k++)
        if (plan->filler[k] < 0 || plan->filler[k] >= plan->numbers) *bad = 0;
    free(written);
    if (*bad >= 0) {
        graphc_plan_free(plan);
        return NULL;
    }
    return plan;
}

/* Points first to last (excluded) of the arguments into the results; 0, or 1 without memory or
   where there are no such points. An argument whose stride is 0 is one number for all points. With
   sums, a result is one number per block, its sum over the block's points; first is then a multiple
   of the block. */
EXPORT int graphc_run(const Plan *plan, void *const *arguments, const int64_t *strides,
                      void *const *results, int sums, int64_t first, int64_t last) {
    if (first < 0 || last < first || (sums && first % plan->block)) return 1;
    if (first == last) return 0;
    return plan->wide ? run_64(plan, arguments, strides, results, sums, first, last)
                      : run_32(plan, arguments, strides, results, sums, first, last);
}

/* The sum of numbers in a fixed order, by halves. */
EXPORT double graphc_sum(const double *numbers, int64_t count) { return sum_64(numbers, count); }

/* One point: `values` has a place for each argument, result, number and block of the plan. */
EXPORT int64_t graphc_slots(const Plan *plan) {
    return plan->arguments + plan->results + plan->numbers + plan->filled + plan->blocks;
}

EXPORT void graphc_point_start(const Plan *plan, void *values) {
    if (plan->wide)
        start_64(plan, values);
    else
        start_32(plan, values);
}

EXPORT void graphc_point(const Plan *plan, void *values) {
    if (plan->wide)
        point_64(plan, values);
    else
        point_32(plan, values);
}

EXPORT const char *graphc_names(void) { return NAMES; }
EXPORT int64_t graphc_plan_arguments(const Plan *plan) { return plan->arguments; }
EXPORT int64_t graphc_plan_results(const Plan *plan) { return plan->results; }
EXPORT int graphc_plan_wide(const Plan *plan) { return plan->wide; }

/* One function of one operand over whole arrays, which are apart or the same. */
EXPORT void graphc_vector(int code, int wide, void *result, const void *array, int64_t count) {
    if (code < 0 || code >= KERNELS || count <= 0) return;
    if (forms[code].pair || forms[code].operands != 1) return;
    if (wide)
        vector_64(code, result, array, count);
    else
        vector_32(code, result, array, count);
}

#include "chains.h"

#include "tape.h"

#include "pairs.h"
