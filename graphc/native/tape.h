/* The tape: one point of a graph of any size, row by row, values forth and slopes back.

   A row has a code and up to three operands, earlier rows. Rows that are given (arguments, numbers)
   hold their values before the tape runs. What no path reaches is not alive: an adjoint that is 0
   and one that never came are two things, because 0 times infinity is not 0. */

#include "tape_cases.h"

typedef struct {
    int32_t code, a, b, c;
} Row;

/* The first row that must not run, or -1: operands are earlier rows. What follows takes rows that
   were checked, and arrays as long as they are many. */
EXPORT int64_t graphc_tape_check(const Row *rows, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (rows[i].code < 0 || rows[i].code >= TAPE_CODES) return i;
        const int32_t operand[3] = {rows[i].a, rows[i].b, rows[i].c};
        for (int k = 0; k < tape_operands[rows[i].code]; k++)
            if (operand[k] < 0 || operand[k] >= i) return i;
    }
    return -1;
}

/* Marks what marked rows are computed from, in some rows of a graph: `operands` has three places for each
   of them, negative ones are none. Returns a row with an operand that is not an earlier row, or -1. */
EXPORT int64_t graphc_tape_mark(const int32_t *operands, int64_t first, int64_t count, uint8_t *marked) {
    for (int64_t i = count < 1 ? -1 : count - 1; i >= 0; i--) {
        if (!marked[first + i]) continue;
        for (int k = 0; k < 3; k++) {
            const int32_t operand = operands[3 * i + k];
            if (operand >= first + i) return first + i;
            if (operand >= 0) marked[operand] = 1;
        }
    }
    return -1;
}

/* An order of rows that were checked in which rows of one code stand together as far as they can: the
   processor then guesses which case comes next. Of the codes with rows that are ready, the one that has
   most runs until it has none. `work` has 6 * count + 1 places. */
EXPORT void graphc_tape_group(const Row *rows, int64_t count, int32_t *order, int32_t *work) {
    if (count < 1) return;
    int32_t *after = work, *needs = after + count, *uses = needs + count, *users = uses + count + 1;
    int32_t head[TAPE_CODES], tail[TAPE_CODES], ready[TAPE_CODES];
    memset(uses, 0, (size_t)(count + 1) * sizeof *uses);
    for (int code = 0; code < TAPE_CODES; code++) ready[code] = 0;
    for (int64_t i = 0; i < count; i++) {
        const int32_t operand[3] = {rows[i].a, rows[i].b, rows[i].c};
        needs[i] = tape_operands[rows[i].code];
        for (int k = 0; k < needs[i]; k++) uses[operand[k]]++;
    }
    for (int64_t i = 0; i < count; i++) uses[i + 1] += uses[i];
    for (int64_t i = count - 1; i >= 0; i--) { /* from where the users of a row end to where they begin */
        const int32_t operand[3] = {rows[i].a, rows[i].b, rows[i].c};
        for (int k = needs[i] - 1; k >= 0; k--) users[--uses[operand[k]]] = (int32_t)i;
    }
#define ENQUEUE(row) \
    do { \
        const int at = rows[row].code; \
        if (ready[at]++) after[tail[at]] = (int32_t)(row); \
        else head[at] = (int32_t)(row); \
        tail[at] = (int32_t)(row); \
    } while (0)
    for (int64_t i = 0; i < count; i++)
        if (!needs[i]) ENQUEUE(i);
    for (int64_t done = 0; done < count;) {
        int code = 0;
        for (int other = 1; other < TAPE_CODES; other++)
            if (ready[other] > ready[code]) code = other;
        while (ready[code]) {
            const int32_t row = head[code];
            if (--ready[code]) head[code] = after[row];
            order[done++] = row;
            for (int64_t k = uses[row]; k < uses[row + 1]; k++)
                if (!--needs[users[k]]) ENQUEUE(users[k]);
        }
    }
#undef ENQUEUE
}

#define LOAD(name) const double name = values[row->name];
#define OWN_VALUE const double o = values[i];
#define NEXT break;

EXPORT void graphc_tape_values(const Row *rows, int64_t count, double *restrict values) {
#define VALUE(value) values[i] = value; break;
    for (int64_t i = 0; i < count; i++) {
        const Row *row = rows + i;
        switch (row->code) { VALUE_CASES default: break; }
    }
#undef VALUE
}

static void begin_adjoints(int64_t count, double *adjoints, uint8_t *alive) {
    if (count < 1) return;
    memset(adjoints, 0, (size_t)count * sizeof *adjoints);
    memset(alive, 0, (size_t)count);
    adjoints[count - 1] = 1.0;
    alive[count - 1] = 1;
}

/* Adjoints of all rows, that of the last one is 1. */
EXPORT void graphc_tape_reverse(const Row *rows, int64_t count, const double *restrict values,
                                double *restrict adjoints, uint8_t *restrict alive) {
#define EDGE(name, k, gate, slope) \
    if (gate) { \
        adjoints[row->name] += adjoint * (slope); \
        alive[row->name] = 1; \
    }
    begin_adjoints(count, adjoints, alive);
    for (int64_t i = count < 1 ? -1 : count - 1; i >= 0; i--) {
        if (!alive[i]) continue;
        const Row *row = rows + i;
        const double adjoint = adjoints[i];
        switch (row->code) { SLOPE_CASES default: break; }
    }
#undef EDGE
}

/* Values, and three slopes for each row, and whether anything passes over each of its edges. The
   processor guesses the second case from the first. */
EXPORT void graphc_tape_slopes(const Row *rows, int64_t count, double *restrict values,
                               double *restrict slopes, uint8_t *restrict open) {
#define VALUE(value) values[i] = value; break;
#define EDGE(name, k, gate, slope) \
    slopes[3 * i + k] = slope; \
    open[3 * i + k] = (gate) ? 1 : 0;
    for (int64_t i = 0; i < count; i++) {
        const Row *row = rows + i;
        switch (row->code) { VALUE_CASES default: break; }
        switch (row->code) { SLOPE_CASES default: break; }
    }
#undef VALUE
#undef EDGE
}

/* The same from slopes that are known. What passes over no edge goes to a place behind the rows, where
   nobody looks: that is cheaper than a question which the processor cannot guess. */
EXPORT void graphc_tape_pull(const Row *rows, int64_t count, const double *restrict slopes,
                             const uint8_t *restrict open, double *restrict adjoints,
                             uint8_t *restrict alive) {
    begin_adjoints(count, adjoints, alive);
    for (int64_t i = count < 1 ? -1 : count - 1; i >= 0; i--) {
        if (!alive[i]) continue;
        const double adjoint = adjoints[i], *slope = slopes + 3 * i;
        const uint8_t *passes = open + 3 * i;
        const int64_t a = passes[0] ? rows[i].a : count, b = passes[1] ? rows[i].b : count;
        adjoints[a] += adjoint * slope[0];
        alive[a] = 1;
        adjoints[b] += adjoint * slope[1];
        alive[b] = 1;
        if (passes[2]) {
            adjoints[rows[i].c] += adjoint * slope[2];
            alive[rows[i].c] = 1;
        }
    }
}

EXPORT const char *graphc_tape_names(void) { return TAPE_NAMES; }
#undef LOAD
#undef OWN_VALUE
#undef NEXT
