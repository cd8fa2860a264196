/* The blocks of a chain for one type; chains.h includes it for double and for float. */

#define IN(k) memcpy(to + (k), from + (k) * stride, sizeof *to)
#define OUT(k) memcpy(to + (k) * stride, from + (k), sizeof *from)
/* Short runs, of which there are many where an axis is short, are not worth a loop. */
#define SHORT_RUN(ITEM) \
    switch (n) { \
        case 8: ITEM(7); /* fall through */ \
        case 7: ITEM(6); /* fall through */ \
        case 6: ITEM(5); /* fall through */ \
        case 5: ITEM(4); /* fall through */ \
        case 4: ITEM(3); /* fall through */ \
        case 3: ITEM(2); /* fall through */ \
        case 2: ITEM(1); /* fall through */ \
        case 1: ITEM(0); return; \
        default: break; \
    }

/* Elements a stride apart. */
static inline void NAMED(run_in)(REAL *to, char *from, int64_t stride, int64_t n) {
    SHORT_RUN(IN)
    REAL one;
    if (stride == 0) {
        memcpy(&one, from, sizeof one);
        for (int64_t i = 0; i < n; i++) to[i] = one;
    } else if (stride == (int64_t)sizeof one) {
        memcpy(to, from, (size_t)n * sizeof one);
    } else { /* four at a time: compilers would make gathers of it, which are slower */
        int64_t i = 0;
        for (; i + 4 <= n; i += 4, to += 4, from += 4 * stride) IN(0), IN(1), IN(2), IN(3);
        for (; i < n; i++, to++, from += stride) IN(0);
    }
}

static inline void NAMED(run_out)(REAL *from, char *to, int64_t stride, int64_t n) {
    SHORT_RUN(OUT)
    if (stride == (int64_t)sizeof *from) {
        memcpy(to, from, (size_t)n * sizeof *from);
    } else {
        int64_t i = 0;
        for (; i + 4 <= n; i += 4, from += 4, to += 4 * stride) OUT(0), OUT(1), OUT(2), OUT(3);
        for (; i < n; i++, from++, to += stride) OUT(0);
    }
}
#undef IN
#undef OUT
#undef SHORT_RUN

/* The next n elements of an operand, a part of a line, or whole lines of the axis before it: into
   a block, or out of it. */
#define MOVE(name, run) \
    static void NAMED(name)(Operand *x, REAL *block, int64_t n) { \
        const int last = x->axes - 1, before = last - 1; \
        const int64_t size = x->size[last], stride = x->stride[last]; \
        while (n > 0) { \
            if (x->at[last] || n < size || before < 0) { \
                const int64_t left = size - x->at[last], part = left < n ? left : n; \
                NAMED(run)(block, x->line + x->at[last] * stride, stride, part); \
                block += part; \
                n -= part; \
                x->at[last] += part; \
                if (x->at[last] < size) return; \
                x->at[last] = 0; \
                if (before < 0) continue; \
                x->line += x->stride[before]; \
                x->at[before]++; \
            } else { \
                const int64_t left = x->size[before] - x->at[before]; \
                const int64_t lines = left < n / size ? left : n / size; \
                char *line = x->line; \
                for (int64_t i = 0; i < lines; i++, line += x->stride[before], block += size) \
                    NAMED(run)(block, line, stride, size); \
                x->line = line; \
                n -= lines * size; \
                x->at[before] += lines; \
            } \
            for (int k = before; k >= 0 && x->at[k] == x->size[k]; k--) { \
                x->line -= x->stride[k] * x->size[k]; \
                x->at[k] = 0; \
                if (!k) break; \
                x->line += x->stride[k - 1]; \
                x->at[k - 1]++; \
            } \
        } \
    }

MOVE(gather, run_in)
MOVE(scatter, run_out)
#undef MOVE

/* Numbers and blocks stay where they are; some blocks hold one number, and are never written. */
static void NAMED(chain_start)(Chain *chain, char *memory) {
    const Plan *plan = chain->plan;
    REAL *number = plan->number;
    void **slot = chain->slots + plan->arguments + plan->results;
    for (int64_t k = 0; k < plan->numbers; k++) *slot++ = number + k;
    for (int64_t k = 0; k < plan->filled + plan->blocks; k++, memory += chain->bytes) {
        REAL *block = *slot++ = memory;
        for (int64_t i = 0; k < plan->filled && i < chain->block; i++)
            block[i] = number[plan->filler[k]];
    }
}

/* Sums of so many elements that follow one another; they may begin where the elements do. */
static void NAMED(sum_up)(REAL *sums, const REAL *block, int64_t count, int64_t together) {
    for (int64_t k = 0; k < count; k++, block += together) {
        REAL sum = 0;
        for (int64_t i = 0; i < together; i++) sum += block[i];
        sums[k] = sum;
    }
}

static void NAMED(chain)(Chain *chain) {
    const Plan *plan = chain->plan;
    const int64_t arguments = plan->arguments, operands = arguments + plan->results;
    const int64_t together = chain->together;
    REAL **slots = (REAL **)chain->slots;
    for (int64_t k = 0; k < operands; k++) {
        Operand *x = chain->operand + k;
        slots[k] = x->spare;
        if (x->is_line) continue;
        x->line = x->base;
        for (int i = 0; i < x->axes; i++) x->at[i] = 0;
        if (x->axes) continue;
        REAL one;
        memcpy(&one, x->base, sizeof one);
        for (int64_t i = 0; i < chain->block; i++) slots[k][i] = one;
    }
    const Step *end = plan->step + plan->steps;
    /* what only moves goes straight out of one line, or straight into one */
    const Operand *first = chain->operand, *second = first + 1;
    const bool moves = plan->steps == 1 && plan->step->code == CODE_identity && arguments == 1 &&
                       together == 1;
    const bool out = moves && first->is_line && !second->is_line;
    const bool in = moves && !first->is_line && first->axes && second->is_line;
    for (int64_t start = 0, n; start < chain->total; start += n) {
        n = chain->total - start < chain->block ? chain->total - start : chain->block;
        for (int64_t k = 0; k < operands; k++)
            if (chain->operand[k].is_line && (k < arguments || together == 1))
                slots[k] = (REAL *)(void *)chain->operand[k].base + start;
        if (in) slots[0] = slots[1];
        if (out) slots[1] = slots[0];
        for (int64_t k = 0; k < arguments; k++)
            if (!chain->operand[k].is_line && chain->operand[k].axes)
                NAMED(gather)(chain->operand + k, slots[k], n);
        for (const Step *step = plan->step; step < end && !in && !out; step++)
            NAMED(blocks)[step->code](slots, step, n);
        for (int64_t k = arguments; k < operands; k++) {
            Operand *x = chain->operand + k;
            REAL *line = (REAL *)(void *)x->base + start / together;
            if (together > 1)
                NAMED(sum_up)(x->is_line ? line : slots[k], slots[k], n / together, together);
            if (!x->is_line) NAMED(scatter)(x, slots[k], n / together);
        }
    }
}
