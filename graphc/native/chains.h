/* A plan over arrays: element-wise operations of one shape, a block of elements at a time. Results may
   be sums over the last axes, from the first element to the last.

   An operand is read or written where it stands if its elements follow one another in the order of
   the shape, and moved block by block if they do not: views and broadcasts need no copy. */

#define MOST_AXES 64 /* as many as NumPy's arrays have */

typedef struct {
    char *base;
    int axes;                   /* after neighbours were joined; 0: one number for all */
    bool is_line;               /* its elements follow one another */
    int64_t *size, *stride;     /* outermost first; strides in bytes */
    int64_t *at;                /* where the next block begins, */
    char *line;                 /* and in which line */
    void *spare;                /* the block into which it is moved, or summed */
    int room;                   /* for so many axes */
    double number;              /* an operand that is no array stands here */
} Operand;

typedef struct {
    const Plan *plan;
    int64_t total, block;
    int axes, summed;
    int64_t shape[MOST_AXES];
    int64_t together; /* elements that are summed to one, 1 where none are */
    Operand *operand; /* arguments, then results */
    void **slots;
    void *owned;  /* blocks */
    size_t bytes; /* of a block */
} Chain;

#define TYPED(name) name##_64
#define REAL double
#include "chain_blocks.h"
#undef TYPED
#undef REAL
#define TYPED(name) name##_32
#define REAL float
#include "chain_blocks.h"
#undef TYPED
#undef REAL

EXPORT void graphc_chain_free(Chain *chain) {
    if (!chain) return;
    const int64_t operands = chain->plan->arguments + chain->plan->results;
    for (int64_t k = 0; chain->operand && k < operands; k++) {
        free(chain->operand[k].size);
        free(chain->operand[k].spare);
    }
    free(chain->operand);
    free(chain->slots);
    free(chain->owned);
    free(chain);
}

/* A chain over arrays of this shape, none of which it knows yet; NULL without memory, or if there
   are too many axes or elements, or none or too many of those that are summed. */
EXPORT Chain *graphc_chain(const Plan *plan, int64_t axes, const int64_t *shape, int64_t summed) {
    if (axes < 0 || axes > MOST_AXES || summed < 0 || summed > axes) return NULL;
    Chain *chain = calloc(1, sizeof *chain);
    if (!chain) return NULL;
    chain->plan = plan;
    chain->axes = (int)axes;
    chain->summed = (int)summed;
    chain->total = chain->together = 1;
    for (int k = 0; k < axes; k++) {
        chain->shape[k] = shape[k];
        if (shape[k] < 0 || (shape[k] && chain->total > INT64_MAX / 16 / shape[k])) {
            free(chain);
            return NULL;
        }
        chain->total *= shape[k];
        if (k >= axes - summed) chain->together *= shape[k];
    }
    if (chain->together < 1 || chain->together > plan->block) {
        free(chain);
        return NULL;
    }
    chain->block = plan->block / chain->together * chain->together;
    if (chain->total < chain->block) chain->block = chain->total;
    const size_t operands = (size_t)(plan->arguments + plan->results);
    const size_t wide = plan->wide ? sizeof(double) : sizeof(float);
    const size_t blocks = (size_t)(plan->filled + plan->blocks);
    /* a block begins where a line of the cache does */
    const size_t bytes = ((size_t)chain->block * wide + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    chain->bytes = bytes;
    chain->operand = calloc(operands + 1, sizeof *chain->operand);
    chain->slots = calloc((size_t)graphc_slots(plan) + 1, sizeof *chain->slots);
    chain->owned = malloc(blocks * bytes + CACHE_LINE);
    if (!chain->operand || !chain->slots || !chain->owned) {
        graphc_chain_free(chain);
        return NULL;
    }
    char *memory = (char *)(((uintptr_t)chain->owned + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (plan->wide)
        chain_start_64(chain, memory);
    else
        chain_start_32(chain, memory);
    return chain;
}

/* Whether an operand has room for so many axes and, if it is moved, for a block. */
static bool has_room(Operand *x, int axes, bool is_moved, size_t bytes) {
    if (is_moved && !x->spare && !(x->spare = malloc(bytes + 1))) return false;
    if (axes <= x->room) return true;
    int64_t *fresh = malloc(3 * (size_t)axes * sizeof *fresh);
    if (!fresh) return false;
    free(x->size);
    x->size = fresh;
    x->stride = fresh + axes;
    x->at = fresh + 2 * axes;
    x->room = axes;
    return true;
}

/* Where operand k stands, argument or result; whether it fits the shape, by NumPy's rules. */
EXPORT int graphc_chain_bind(Chain *chain, int64_t k, void *base, int axes,
                             const ptrdiff_t *size, const ptrdiff_t *stride) {
    const Plan *plan = chain->plan;
    if (k < 0 || k >= plan->arguments + plan->results) return 0;
    Operand *x = chain->operand + k;
    const int64_t wide = plan->wide ? sizeof(double) : sizeof(float);
    const bool is_result = k >= plan->arguments;
    const int own = is_result ? chain->axes - chain->summed : chain->axes;
    const int64_t total = is_result ? chain->total / chain->together : chain->total;
    if (axes < 0 || axes > own) return 0;
    int64_t sizes[MOST_AXES], strides[MOST_AXES];
    int found = 0; /* innermost first */
    for (int i = 1; i <= own; i++) {
        const int64_t whole = chain->shape[own - i];
        const int64_t here = i <= axes ? size[axes - i] : 1;
        if (here != whole && (here != 1 || is_result)) return 0;
        if (whole == 1) continue;
        const int64_t step = here == 1 ? 0 : stride[axes - i];
        if (found && step == strides[found - 1] * sizes[found - 1]) {
            sizes[found - 1] *= whole;
        } else {
            sizes[found] = whole;
            strides[found++] = step;
        }
    }
    if (found == 1 && strides[0] == 0) found = 0;
    const bool aligned = (uintptr_t)base % (uintptr_t)wide == 0;
    const bool is_line = aligned && (total <= 1 || (found == 1 && strides[0] == wide));
    if (is_result && !found) {
        if (total > 1) return 0; /* there is one place for many */
        sizes[0] = 1;
        strides[found++] = wide;
    }
    const bool is_moved = !is_line || (is_result && chain->together > 1);
    if (!has_room(x, found, is_moved, chain->bytes)) return 0;
    x->is_line = is_line;
    x->base = base;
    x->axes = found;
    for (int i = 0; i < found; i++) {
        x->size[i] = sizes[found - 1 - i];
        x->stride[i] = strides[found - 1 - i];
    }
    return 1;
}

/* Operand k is this number; whether there is such an argument. */
EXPORT int graphc_chain_number(Chain *chain, int64_t k, double number) {
    if (k < 0 || k >= chain->plan->arguments) return 0;
    Operand *x = chain->operand + k;
    if (!has_room(x, 0, true, chain->bytes)) return 0;
    const float narrow = (float)number;
    x->number = number;
    if (!chain->plan->wide) memcpy(&x->number, &narrow, sizeof narrow);
    x->base = (char *)&x->number;
    x->axes = 0;
    x->is_line = false;
    return 1;
}

/* Whether it ran: not before every operand has its place. */
EXPORT int graphc_chain_run(Chain *chain) {
    const int64_t operands = chain->plan->arguments + chain->plan->results;
    for (int64_t k = 0; k < operands; k++)
        if (!chain->operand[k].base && chain->total) return 0;
    if (chain->plan->wide)
        chain_64(chain);
    else
        chain_32(chain);
    return 1;
}

/* About how many operations it takes. */
EXPORT int64_t graphc_chain_work(const Chain *chain) {
    return chain->plan->steps ? chain->total * chain->plan->steps : 0;
}
