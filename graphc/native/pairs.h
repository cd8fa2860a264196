/* All pairs: lines of derivatives, added up over edges, one block of columns at a time.

   Lines 0 to nodes - 1 are those of the nodes; lines behind them are what several nodes have in
   common. A column is a node too. Edges come in an order in which a line is complete before anything
   is carried on from it: from targets to sources, last first, lines become rows of S[i, j] = d j / d i;
   from sources to targets, they become its columns. */

#define PAIRS_OVERLAP (CACHE_LINE / 8) /* numbers in a line of the cache */

typedef struct {
    const int32_t *start; /* the first column in which a line can hold anything */
    int64_t nodes, first, last, stride;
    double *lines, *spare;
    uint8_t *reached; /* of each line, what it holds in this block */
} Block;

enum { NOTHING, SEED, NUMBERS }; /* a seed that nothing came to yet is 1 at its own column */

/* Line and its first column, counted from the first of the block. */
static double *line_of(const Block *block, int64_t line) {
    return line < block->nodes ? block->lines + line * block->stride
                               : block->spare + (line - block->nodes) * (block->last - block->first);
}

static int64_t start_of(const Block *block, int64_t line) {
    const int64_t start = block->start[line] < block->last ? block->start[line] : block->last;
    return start > block->first ? start - block->first : 0;
}

static void plant(const Block *block, int64_t line, double *values) {
    if (line >= block->first && line < block->last) values[line - block->first] = 1.0;
    block->reached[line] = NUMBERS;
}

static void begin_line(const Block *block, int64_t line) {
    double *values = line_of(block, line);
    const int64_t start = start_of(block, line), width = block->last - block->first;
    memset(values + start, 0, (size_t)(width - start) * sizeof *values);
    plant(block, line, values);
}

static void carry_line(const Block *block, int64_t from, int64_t to, double slope) {
    const double *source = line_of(block, from);
    double *line = line_of(block, to);
    const int64_t width = block->last - block->first, low = start_of(block, from);
    if (block->reached[to] == NUMBERS) {
        INDEPENDENT for (int64_t i = low; i < width; i++) line[i] += slope * source[i];
    } else { /* what is not known yet is written, not added to */
        for (int64_t i = start_of(block, to); i < low; i++) line[i] = 0.0;
        INDEPENDENT for (int64_t i = low; i < width; i++) line[i] = slope * source[i];
        plant(block, to, line);
    }
}

/* Columns first to last (excluded) of all lines. `lines` points to the block's first column; spare
   lines are as wide as the block. Lines over which nothing came are left as they are. Slopes
   are finite. 0, or 1 where an edge or a column is not there. */
EXPORT int graphc_pairs(const int32_t *from, const int32_t *to, const double *slopes, int64_t count,
                        const int32_t *start, int64_t nodes, int64_t spares, int64_t first,
                        int64_t last, double *lines, int64_t stride, double *spare,
                        uint8_t *reached) {
    if (nodes < 0 || spares < 0 || nodes > INT32_MAX || spares > INT32_MAX) return 1;
    if (first < 0 || last < first || last > nodes || stride < last - first) return 1;
    const Block block = {start, nodes, first, last, stride, lines, spare, reached};
    const int64_t all = nodes + spares;
    for (int64_t line = 0; line < all; line++)
        if (start[line] < 0) return 1;
    bool fit = true;
    for (int64_t k = 0; k < count; k++)
        fit &= from[k] >= 0 && from[k] < all && to[k] >= 0 && to[k] < all && from[k] != to[k];
    if (!fit) return 1;
    memset(reached, NOTHING, (size_t)all);
    memset(reached + first, SEED, (size_t)(last - first));
    for (int64_t k = 0; k < count; k++) {
        if (reached[from[k]] == NOTHING) continue;
        if (reached[from[k]] == SEED) begin_line(&block, from[k]);
        carry_line(&block, from[k], to[k], slopes[k]);
    }
    for (int64_t line = first; line < last; line++)
        if (reached[line] == SEED) begin_line(&block, line);
    return 0;
}

/* The last column up to this one at which a line of the cache begins; all of a row's at its end. */
static int64_t whole_lines(const double *row, int64_t column, int64_t nodes) {
    const int64_t over = (int64_t)((uintptr_t)(row + column) / sizeof *row % PAIRS_OVERLAP);
    return column == 0 || column == nodes ? column : column > over ? column - over : 0;
}

/* Puts columns first to last (excluded) of S, rows from sources to targets, into the whole, which may
   hold anything: zeros where nothing came, and before the block in rows that begin in it. The lines
   begin PAIRS_OVERLAP columns earlier (at 0 at least), so that what this block leaves of a line of the
   cache is written with the next. */
EXPORT void graphc_pairs_put(const double *lines, const uint8_t *reached, int64_t nodes,
                             int64_t first, int64_t last, double *whole) {
    const int64_t low = first > PAIRS_OVERLAP ? first - PAIRS_OVERLAP : 0, width = last - low;
    for (int64_t line = 0; line < last; line++) {
        double *row = whole + line * nodes;
        const int64_t from = whole_lines(row, first, nodes), to = whole_lines(row, last, nodes);
        const double *numbers = reached[line] ? lines + line * width + (from - low) : NULL;
        if (line >= first) put_away(row, NULL, from * (int64_t)sizeof *row);
        put_away(row + from, numbers, (to - from) * (int64_t)sizeof *row);
    }
    settle();
}

/* Which of the nodes first to last (excluded), at most 64, lead to each node, as bits. Edges come in
   order of their sources. 0, or 1 where an edge is not there. */
EXPORT int graphc_pairs_reach(const int32_t *from, const int32_t *to, int64_t count, int64_t nodes,
                              int64_t first, int64_t last, uint64_t *reach) {
    if (first < 0 || last < first || last > nodes || last - first > 64) return 1;
    for (int64_t i = 0; i < nodes; i++)
        reach[i] = i >= first && i < last ? (uint64_t)1 << (i - first) : 0;
    for (int64_t k = 0; k < count; k++) {
        if (from[k] < 0 || from[k] >= nodes || to[k] < 0 || to[k] >= nodes) return 1;
        reach[to[k]] |= reach[from[k]];
    }
    return 0;
}

/* Edges between lines, from targets to sources, last first: their number. A row has a line of its own
   (line[j] >= 0) or is used once, and then its edges are those of the line that it leads to. */
EXPORT int64_t graphc_tape_edges(const Row *rows, int64_t count, const double *slopes,
                                 const uint8_t *open, const int32_t *line, int32_t *owner,
                                 double *factor, int32_t *from, int32_t *to, double *slope) {
    int64_t edges = 0;
    for (int64_t j = 0; j < count; j++) {
        owner[j] = line[j];
        factor[j] = 1.0;
    }
    for (int64_t j = count < 1 ? -1 : count - 1; j >= 0; j--) {
        if (owner[j] < 0) continue; /* it leads nowhere */
        const int32_t operand[3] = {rows[j].a, rows[j].b, rows[j].c};
        for (int k = 0; k < tape_operands[rows[j].code]; k++) {
            if (!open[3 * j + k]) continue;
            const int64_t o = operand[k];
            const double passed = factor[j] * slopes[3 * j + k];
            if (line[o] < 0) {
                owner[o] = owner[j];
                factor[o] = passed;
            } else {
                from[edges] = owner[j];
                to[edges] = line[o];
                slope[edges++] = passed;
            }
        }
    }
    return edges;
}
