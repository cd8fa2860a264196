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

/* Marks what marked rows are computed from. */
EXPORT void graphc_tape_mark(const Row *rows, int64_t count, uint8_t *marked) {
    for (int64_t i = count < 1 ? -1 : count - 1; i >= 0; i--) {
        if (!marked[i]) continue;
        const int32_t operand[3] = {rows[i].a, rows[i].b, rows[i].c};
        for (int k = 0; k < tape_operands[rows[i].code]; k++) marked[operand[k]] = 1;
    }
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

/* Adjoints of all rows; those of the ends are given, and alive. */
EXPORT void graphc_tape_reverse(const Row *rows, int64_t count, const double *restrict values,
                                double *restrict adjoints, uint8_t *restrict alive) {
#define EDGE(name, k, gate, slope) \
    if (gate) { \
        adjoints[row->name] += adjoint * (slope); \
        alive[row->name] = 1; \
    }
    for (int64_t i = count < 1 ? -1 : count - 1; i >= 0; i--) {
        if (!alive[i]) continue;
        const Row *row = rows + i;
        const double adjoint = adjoints[i];
        switch (row->code) { SLOPE_CASES default: break; }
    }
#undef EDGE
}

/* Three slopes for each row, and whether anything passes over each of its edges. */
EXPORT void graphc_tape_slopes(const Row *rows, int64_t count, const double *restrict values,
                               double *restrict slopes, uint8_t *restrict open) {
#define EDGE(name, k, gate, slope) \
    slopes[3 * i + k] = slope; \
    open[3 * i + k] = (gate) ? 1 : 0;
    for (int64_t i = 0; i < count; i++) {
        const Row *row = rows + i;
        switch (row->code) { SLOPE_CASES default: break; }
    }
#undef EDGE
}

/* slope * other, added to columns first to last (excluded) of a line of which columns *low to *high
   are known: what is not known yet is written, not added to. */
static void join_line(double *line, int64_t *low, int64_t *high, const double *other, int64_t first,
                      int64_t last, double slope) {
    if (first >= last) return;
    if (*low >= *high) *low = *high = first;
    const int64_t from = first > *low ? first : *low, to = last < *high ? last : *high;
    INDEPENDENT for (int64_t i = from; i < to; i++) line[i] += slope * other[i];
    if (first < *low) {
        const int64_t end = last < *low ? last : *low;
        INDEPENDENT for (int64_t i = first; i < end; i++) line[i] = slope * other[i];
        for (int64_t i = end; i < *low; i++) line[i] = 0.0;
        *low = first;
    }
    if (last > *high) {
        const int64_t start = first > *high ? first : *high;
        for (int64_t i = *high; i < start; i++) line[i] = 0.0;
        INDEPENDENT for (int64_t i = start; i < last; i++) line[i] = slope * other[i];
        *high = last;
    }
}

static double *line_of(int64_t node, int64_t width, double *lines, double *spare) {
    return node < 0 ? spare + (-1 - node) * width : lines + node * width;
}

/* All pairs: line i of `lines` becomes the derivatives of the `width` nodes by node i. Row j is node
   node[j]; rows between nodes (node[j] = -1 - k) have line k of `spare` instead. `range` has two
   numbers for each row; lines that hold anything but zeros are to be cleared. Backwards: when row j
   comes, all that depends on it has been there. 0, or 1 where a row has no line. */
EXPORT int graphc_pairs(const Row *rows, int64_t count, const double *slopes, const uint8_t *open,
                        const int32_t *node, int64_t width, double *lines, int64_t spares,
                        double *spare, int64_t *range, int clear) {
    if (count < 1) return 0;
    if (count > INT32_MAX || width < 0 || width > INT32_MAX) return 1;
    for (int64_t j = 0; j < count; j++)
        if (node[j] >= width || -1 - (int64_t)node[j] >= spares) return 1;
    for (int64_t j = 0; j < 2 * count; j++) range[j] = 0;
    for (int64_t j = count - 1; j >= 0; j--) {
        int64_t *low = range + 2 * j, *high = low + 1;
        double *line = line_of(node[j], width, lines, spare);
        if (node[j] >= 0) {
            if (*low >= *high) *low = *high = node[j]; /* nothing later depends on it */
            for (int64_t i = node[j]; i < *low; i++) line[i] = 0.0;
            line[node[j]] = 1.0;
            *low = node[j];
            if (*high <= node[j]) *high = node[j] + 1;
            if (clear) {
                memset(line, 0, (size_t)*low * sizeof *line);
                memset(line + *high, 0, (size_t)(width - *high) * sizeof *line);
            }
        }
        const int32_t operand[3] = {rows[j].a, rows[j].b, rows[j].c};
        for (int k = 0; k < tape_operands[rows[j].code]; k++) {
            if (!open[3 * j + k]) continue;
            const int64_t o = operand[k];
            double *other = line_of(node[o], width, lines, spare);
            join_line(other, range + 2 * o, range + 2 * o + 1, line, *low, *high, slopes[3 * j + k]);
        }
    }
    return 0;
}

EXPORT const char *graphc_tape_names(void) { return TAPE_NAMES; }
#undef LOAD
#undef OWN_VALUE
#undef NEXT
