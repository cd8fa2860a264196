/* Printed from the table of functions by program/backends/native/kernels.py: do not edit.
   engine.c includes it twice, for double and for float. */

#ifndef CODES
#define CODES
enum {
    CODE_add,
    CODE_add_at_b,
    CODE_add_at_a,
    CODE_sub,
    CODE_sub_at_b,
    CODE_sub_at_a,
    CODE_mul,
    CODE_mul_at_b,
    CODE_mul_at_a,
    CODE_div,
    CODE_div_at_b,
    CODE_div_at_a,
    CODE_neg,
    CODE_pow,
    CODE_pow_at_b,
    CODE_pow_at_a,
    CODE_lt,
    CODE_lt_at_b,
    CODE_lt_at_a,
    CODE_le,
    CODE_le_at_b,
    CODE_le_at_a,
    CODE_gt,
    CODE_gt_at_b,
    CODE_gt_at_a,
    CODE_ge,
    CODE_ge_at_b,
    CODE_ge_at_a,
    CODE_eq,
    CODE_eq_at_b,
    CODE_eq_at_a,
    CODE_ne,
    CODE_ne_at_b,
    CODE_ne_at_a,
    CODE_where,
    CODE_taken,
    CODE_taken_at_b,
    CODE_taken_at_a,
    CODE_untaken,
    CODE_untaken_at_b,
    CODE_untaken_at_a,
    CODE_identity,
    CODE_exp,
    CODE_log,
    CODE_log1p,
    CODE_expm1,
    CODE_sqrt,
    CODE_square,
    CODE_sin,
    CODE_sincos,
    CODE_cos,
    CODE_tan,
    CODE_asin,
    CODE_acos,
    CODE_atan,
    CODE_atan2,
    CODE_atan2_at_b,
    CODE_atan2_at_a,
    CODE_sinh,
    CODE_cosh,
    CODE_tanh,
    CODE_erf,
    CODE_abs,
    CODE_sign,
    CODE_maximum,
    CODE_maximum_at_b,
    CODE_maximum_at_a,
    CODE_minimum,
    CODE_minimum_at_b,
    CODE_minimum_at_a,
    CODE_sigmoid,
    CODE_softplus,
    CODE_log_sigmoid,
    CODE_gelu,
    CODE_add_of_mul,
    CODE_sub_of_mul,
    CODE_sub_by_mul,
    CODE_mul_of_mul,
    CODE_mul_of_add,
    CODE_mul_of_sub,
    CODE_neg_of_mul,
    CODE_add_of_muls,
    CODE_sub_of_muls,
    KERNELS
};

/* by which the library is known to fit the table */
#define NAMES \
    "add " \
    "add_at_b " \
    "add_at_a " \
    "sub " \
    "sub_at_b " \
    "sub_at_a " \
    "mul " \
    "mul_at_b " \
    "mul_at_a " \
    "div " \
    "div_at_b " \
    "div_at_a " \
    "neg " \
    "pow " \
    "pow_at_b " \
    "pow_at_a " \
    "lt " \
    "lt_at_b " \
    "lt_at_a " \
    "le " \
    "le_at_b " \
    "le_at_a " \
    "gt " \
    "gt_at_b " \
    "gt_at_a " \
    "ge " \
    "ge_at_b " \
    "ge_at_a " \
    "eq " \
    "eq_at_b " \
    "eq_at_a " \
    "ne " \
    "ne_at_b " \
    "ne_at_a " \
    "where " \
    "taken " \
    "taken_at_b " \
    "taken_at_a " \
    "untaken " \
    "untaken_at_b " \
    "untaken_at_a " \
    "identity " \
    "exp " \
    "log " \
    "log1p " \
    "expm1 " \
    "sqrt " \
    "square " \
    "sin " \
    "sincos " \
    "cos " \
    "tan " \
    "asin " \
    "acos " \
    "atan " \
    "atan2 " \
    "atan2_at_b " \
    "atan2_at_a " \
    "sinh " \
    "cosh " \
    "tanh " \
    "erf " \
    "abs " \
    "sign " \
    "maximum " \
    "maximum_at_b " \
    "maximum_at_a " \
    "minimum " \
    "minimum_at_b " \
    "minimum_at_a " \
    "sigmoid " \
    "softplus " \
    "log_sigmoid " \
    "gelu " \
    "add_of_mul " \
    "sub_of_mul " \
    "sub_by_mul " \
    "mul_of_mul " \
    "mul_of_add " \
    "mul_of_sub " \
    "neg_of_mul " \
    "add_of_muls " \
    "sub_of_muls "

/* how many operands, which of them is one number, whether it calls the vector maths, two results */
static const Form forms[KERNELS] = {
    {2, -1, 0, 0}, /* add */
    {2, 1, 0, 0}, /* add_at_b */
    {2, 0, 0, 0}, /* add_at_a */
    {2, -1, 0, 0}, /* sub */
    {2, 1, 0, 0}, /* sub_at_b */
    {2, 0, 0, 0}, /* sub_at_a */
    {2, -1, 0, 0}, /* mul */
    {2, 1, 0, 0}, /* mul_at_b */
    {2, 0, 0, 0}, /* mul_at_a */
    {2, -1, 0, 0}, /* div */
    {2, 1, 0, 0}, /* div_at_b */
    {2, 0, 0, 0}, /* div_at_a */
    {1, -1, 0, 0}, /* neg */
    {2, -1, 1, 0}, /* pow */
    {2, 1, 1, 0}, /* pow_at_b */
    {2, 0, 1, 0}, /* pow_at_a */
    {2, -1, 0, 0}, /* lt */
    {2, 1, 0, 0}, /* lt_at_b */
    {2, 0, 0, 0}, /* lt_at_a */
    {2, -1, 0, 0}, /* le */
    {2, 1, 0, 0}, /* le_at_b */
    {2, 0, 0, 0}, /* le_at_a */
    {2, -1, 0, 0}, /* gt */
    {2, 1, 0, 0}, /* gt_at_b */
    {2, 0, 0, 0}, /* gt_at_a */
    {2, -1, 0, 0}, /* ge */
    {2, 1, 0, 0}, /* ge_at_b */
    {2, 0, 0, 0}, /* ge_at_a */
    {2, -1, 0, 0}, /* eq */
    {2, 1, 0, 0}, /* eq_at_b */
    {2, 0, 0, 0}, /* eq_at_a */
    {2, -1, 0, 0}, /* ne */
    {2, 1, 0, 0}, /* ne_at_b */
    {2, 0, 0, 0}, /* ne_at_a */
    {3, -1, 0, 0}, /* where */
    {2, -1, 0, 0}, /* taken */
    {2, 1, 0, 0}, /* taken_at_b */
    {2, 0, 0, 0}, /* taken_at_a */
    {2, -1, 0, 0}, /* untaken */
    {2, 1, 0, 0}, /* untaken_at_b */
    {2, 0, 0, 0}, /* untaken_at_a */
    {1, -1, 0, 0}, /* identity */
    {1, -1, 1, 0}, /* exp */
    {1, -1, 1, 0}, /* log */
    {1, -1, 1, 0}, /* log1p */
    {1, -1, 1, 0}, /* expm1 */
    {1, -1, 0, 0}, /* sqrt */
    {1, -1, 0, 0}, /* square */
    {1, -1, 1, 0}, /* sin */
    {1, -1, 1, 1}, /* sincos */
    {1, -1, 1, 0}, /* cos */
    {1, -1, 1, 0}, /* tan */
    {1, -1, 1, 0}, /* asin */
    {1, -1, 1, 0}, /* acos */
    {1, -1, 1, 0}, /* atan */
    {2, -1, 1, 0}, /* atan2 */
    {2, 1, 1, 0}, /* atan2_at_b */
    {2, 0, 1, 0}, /* atan2_at_a */
    {1, -1, 1, 0}, /* sinh */
    {1, -1, 1, 0}, /* cosh */
    {1, -1, 1, 0}, /* tanh */
    {1, -1, 1, 0}, /* erf */
    {1, -1, 0, 0}, /* abs */
    {1, -1, 0, 0}, /* sign */
    {2, -1, 0, 0}, /* maximum */
    {2, 1, 0, 0}, /* maximum_at_b */
    {2, 0, 0, 0}, /* maximum_at_a */
    {2, -1, 0, 0}, /* minimum */
    {2, 1, 0, 0}, /* minimum_at_b */
    {2, 0, 0, 0}, /* minimum_at_a */
    {1, -1, 1, 0}, /* sigmoid */
    {1, -1, 1, 0}, /* softplus */
    {1, -1, 1, 0}, /* log_sigmoid */
    {1, -1, 1, 0}, /* gelu */
    {3, -1, 0, 0}, /* add_of_mul */
    {3, -1, 0, 0}, /* sub_of_mul */
    {3, -1, 0, 0}, /* sub_by_mul */
    {3, -1, 0, 0}, /* mul_of_mul */
    {3, -1, 0, 0}, /* mul_of_add */
    {3, -1, 0, 0}, /* mul_of_sub */
    {2, -1, 0, 0}, /* neg_of_mul */
    {3, -1, 0, 0}, /* add_of_muls */
    {3, -1, 0, 0}, /* sub_of_muls */
};
#endif

PLAIN_2(add, (a + b))  /* of a, b */
PLAIN_AT_b(add, add_at_b)
PLAIN_AT_a(add, add_at_a)
PLAIN_2(sub, (a - b))  /* of a, b */
PLAIN_AT_b(sub, sub_at_b)
PLAIN_AT_a(sub, sub_at_a)
PLAIN_2(mul, (a * b))  /* of a, b */
PLAIN_AT_b(mul, mul_at_b)
PLAIN_AT_a(mul, mul_at_a)
PLAIN_2(div, (a / b))  /* of a, b */
PLAIN_AT_b(div, div_at_b)
PLAIN_AT_a(div, div_at_a)
PLAIN_1(neg, (-a))  /* of a */
OWN_2(pow, POW)
OWN_AT_b(pow, pow_at_b)
OWN_AT_a(pow, pow_at_a)
PLAIN_2(lt, ((a < b) ? (REAL)1 : (REAL)0))  /* of a, b */
PLAIN_AT_b(lt, lt_at_b)
PLAIN_AT_a(lt, lt_at_a)
PLAIN_2(le, ((a <= b) ? (REAL)1 : (REAL)0))  /* of a, b */
PLAIN_AT_b(le, le_at_b)
PLAIN_AT_a(le, le_at_a)
PLAIN_2(gt, ((a > b) ? (REAL)1 : (REAL)0))  /* of a, b */
PLAIN_AT_b(gt, gt_at_b)
PLAIN_AT_a(gt, gt_at_a)
PLAIN_2(ge, ((a >= b) ? (REAL)1 : (REAL)0))  /* of a, b */
PLAIN_AT_b(ge, ge_at_b)
PLAIN_AT_a(ge, ge_at_a)
PLAIN_2(eq, ((a == b) ? (REAL)1 : (REAL)0))  /* of a, b */
PLAIN_AT_b(eq, eq_at_b)
PLAIN_AT_a(eq, eq_at_a)
PLAIN_2(ne, ((a != b) ? (REAL)1 : (REAL)0))  /* of a, b */
PLAIN_AT_b(ne, ne_at_b)
PLAIN_AT_a(ne, ne_at_a)
PLAIN_3(where, (a ? b : c))  /* of a, b, c */
PLAIN_2(taken, (a ? b : 0))  /* of a, b */
PLAIN_AT_b(taken, taken_at_b)
PLAIN_AT_a(taken, taken_at_a)
PLAIN_2(untaken, (a ? 0 : b))  /* of a, b */
PLAIN_AT_b(untaken, untaken_at_b)
PLAIN_AT_a(untaken, untaken_at_a)
PLAIN_1(identity, (a))  /* of a */
OWN_1(exp, EXP)
OWN_1(log, LOG)
OWN_1(log1p, LOG1P)
OWN_1(expm1, EXPM1)
PLAIN_1(sqrt, (LIBM(sqrt)(a)))  /* of a */
PLAIN_1(square, (a * a))  /* of a */
OWN_1(sin, SIN)
PAIR(sincos, SINCOS)
OWN_1(cos, COS)
OWN_1(tan, TAN)
OWN_1(asin, ASIN)
OWN_1(acos, ACOS)
OWN_1(atan, ATAN)
OWN_2(atan2, ATAN2)
OWN_AT_b(atan2, atan2_at_b)
OWN_AT_a(atan2, atan2_at_a)
OWN_1(sinh, SINH)
OWN_1(cosh, COSH)
OWN_1(tanh, TANH)
OWN_1(erf, ERF)
PLAIN_1(abs, (LIBM(fabs)(a)))  /* of a */
PLAIN_1(sign, (a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a))  /* of a */
PLAIN_2(maximum, (a > b || a != a ? a : b))  /* of a, b */
PLAIN_AT_b(maximum, maximum_at_b)
PLAIN_AT_a(maximum, maximum_at_a)
PLAIN_2(minimum, (a < b || a != a ? a : b))  /* of a, b */
PLAIN_AT_b(minimum, minimum_at_b)
PLAIN_AT_a(minimum, minimum_at_a)
OWN_1(sigmoid, SIGMOID)
OWN_1(softplus, SOFTPLUS)
OWN_1(log_sigmoid, LOG_SIGMOID)
OWN_1(gelu, GELU)
PLAIN_3(add_of_mul, (a * b + c))  /* of a, b, c */
PLAIN_3(sub_of_mul, (a * b - c))  /* of a, b, c */
PLAIN_3(sub_by_mul, (c - a * b))  /* of a, b, c */
PLAIN_3(mul_of_mul, (a * b * c))  /* of a, b, c */
PLAIN_3(mul_of_add, ((a + b) * c))  /* of a, b, c */
PLAIN_3(mul_of_sub, ((a - b) * c))  /* of a, b, c */
PLAIN_2(neg_of_mul, (-(a * b)))  /* of a, b */
PLAIN_3(add_of_muls, (a * b + a * c))  /* of a, b, c */
PLAIN_3(sub_of_muls, (a * b - a * c))  /* of a, b, c */

static const NAMED(Block) NAMED(blocks)[KERNELS] = {
    NAMED(block_add),
    NAMED(block_add_at_b),
    NAMED(block_add_at_a),
    NAMED(block_sub),
    NAMED(block_sub_at_b),
    NAMED(block_sub_at_a),
    NAMED(block_mul),
    NAMED(block_mul_at_b),
    NAMED(block_mul_at_a),
    NAMED(block_div),
    NAMED(block_div_at_b),
    NAMED(block_div_at_a),
    NAMED(block_neg),
    NAMED(block_pow),
    NAMED(block_pow_at_b),
    NAMED(block_pow_at_a),
    NAMED(block_lt),
    NAMED(block_lt_at_b),
    NAMED(block_lt_at_a),
    NAMED(block_le),
    NAMED(block_le_at_b),
    NAMED(block_le_at_a),
    NAMED(block_gt),
    NAMED(block_gt_at_b),
    NAMED(block_gt_at_a),
    NAMED(block_ge),
    NAMED(block_ge_at_b),
    NAMED(block_ge_at_a),
    NAMED(block_eq),
    NAMED(block_eq_at_b),
    NAMED(block_eq_at_a),
    NAMED(block_ne),
    NAMED(block_ne_at_b),
    NAMED(block_ne_at_a),
    NAMED(block_where),
    NAMED(block_taken),
    NAMED(block_taken_at_b),
    NAMED(block_taken_at_a),
    NAMED(block_untaken),
    NAMED(block_untaken_at_b),
    NAMED(block_untaken_at_a),
    NAMED(block_identity),
    NAMED(block_exp),
    NAMED(block_log),
    NAMED(block_log1p),
    NAMED(block_expm1),
    NAMED(block_sqrt),
    NAMED(block_square),
    NAMED(block_sin),
    NAMED(block_sincos),
    NAMED(block_cos),
    NAMED(block_tan),
    NAMED(block_asin),
    NAMED(block_acos),
    NAMED(block_atan),
    NAMED(block_atan2),
    NAMED(block_atan2_at_b),
    NAMED(block_atan2_at_a),
    NAMED(block_sinh),
    NAMED(block_cosh),
    NAMED(block_tanh),
    NAMED(block_erf),
    NAMED(block_abs),
    NAMED(block_sign),
    NAMED(block_maximum),
    NAMED(block_maximum_at_b),
    NAMED(block_maximum_at_a),
    NAMED(block_minimum),
    NAMED(block_minimum_at_b),
    NAMED(block_minimum_at_a),
    NAMED(block_sigmoid),
    NAMED(block_softplus),
    NAMED(block_log_sigmoid),
    NAMED(block_gelu),
    NAMED(block_add_of_mul),
    NAMED(block_sub_of_mul),
    NAMED(block_sub_by_mul),
    NAMED(block_mul_of_mul),
    NAMED(block_mul_of_add),
    NAMED(block_mul_of_sub),
    NAMED(block_neg_of_mul),
    NAMED(block_add_of_muls),
    NAMED(block_sub_of_muls),
};

#define CASES \
    case CODE_add: O = NAMED(safe_add)(A, B); break; \
    case CODE_add_at_b: O = NAMED(safe_add)(A, B); break; \
    case CODE_add_at_a: O = NAMED(safe_add)(A, B); break; \
    case CODE_sub: O = NAMED(safe_sub)(A, B); break; \
    case CODE_sub_at_b: O = NAMED(safe_sub)(A, B); break; \
    case CODE_sub_at_a: O = NAMED(safe_sub)(A, B); break; \
    case CODE_mul: O = NAMED(safe_mul)(A, B); break; \
    case CODE_mul_at_b: O = NAMED(safe_mul)(A, B); break; \
    case CODE_mul_at_a: O = NAMED(safe_mul)(A, B); break; \
    case CODE_div: O = NAMED(safe_div)(A, B); break; \
    case CODE_div_at_b: O = NAMED(safe_div)(A, B); break; \
    case CODE_div_at_a: O = NAMED(safe_div)(A, B); break; \
    case CODE_neg: O = NAMED(safe_neg)(A); break; \
    case CODE_pow: O = NAMED(safe_pow)(A, B); break; \
    case CODE_pow_at_b: O = NAMED(safe_pow)(A, B); break; \
    case CODE_pow_at_a: O = NAMED(safe_pow)(A, B); break; \
    case CODE_lt: O = NAMED(safe_lt)(A, B); break; \
    case CODE_lt_at_b: O = NAMED(safe_lt)(A, B); break; \
    case CODE_lt_at_a: O = NAMED(safe_lt)(A, B); break; \
    case CODE_le: O = NAMED(safe_le)(A, B); break; \
    case CODE_le_at_b: O = NAMED(safe_le)(A, B); break; \
    case CODE_le_at_a: O = NAMED(safe_le)(A, B); break; \
    case CODE_gt: O = NAMED(safe_gt)(A, B); break; \
    case CODE_gt_at_b: O = NAMED(safe_gt)(A, B); break; \
    case CODE_gt_at_a: O = NAMED(safe_gt)(A, B); break; \
    case CODE_ge: O = NAMED(safe_ge)(A, B); break; \
    case CODE_ge_at_b: O = NAMED(safe_ge)(A, B); break; \
    case CODE_ge_at_a: O = NAMED(safe_ge)(A, B); break; \
    case CODE_eq: O = NAMED(safe_eq)(A, B); break; \
    case CODE_eq_at_b: O = NAMED(safe_eq)(A, B); break; \
    case CODE_eq_at_a: O = NAMED(safe_eq)(A, B); break; \
    case CODE_ne: O = NAMED(safe_ne)(A, B); break; \
    case CODE_ne_at_b: O = NAMED(safe_ne)(A, B); break; \
    case CODE_ne_at_a: O = NAMED(safe_ne)(A, B); break; \
    case CODE_where: O = NAMED(safe_where)(A, B, C); break; \
    case CODE_taken: O = NAMED(safe_taken)(A, B); break; \
    case CODE_taken_at_b: O = NAMED(safe_taken)(A, B); break; \
    case CODE_taken_at_a: O = NAMED(safe_taken)(A, B); break; \
    case CODE_untaken: O = NAMED(safe_untaken)(A, B); break; \
    case CODE_untaken_at_b: O = NAMED(safe_untaken)(A, B); break; \
    case CODE_untaken_at_a: O = NAMED(safe_untaken)(A, B); break; \
    case CODE_identity: O = NAMED(safe_identity)(A); break; \
    case CODE_exp: O = NAMED(safe_exp)(A); break; \
    case CODE_log: O = NAMED(safe_log)(A); break; \
    case CODE_log1p: O = NAMED(safe_log1p)(A); break; \
    case CODE_expm1: O = NAMED(safe_expm1)(A); break; \
    case CODE_sqrt: O = NAMED(safe_sqrt)(A); break; \
    case CODE_square: O = NAMED(safe_square)(A); break; \
    case CODE_sin: O = NAMED(safe_sin)(A); break; \
    case CODE_sincos: NAMED(safe_sincos)(A, &O, &B); break; \
    case CODE_cos: O = NAMED(safe_cos)(A); break; \
    case CODE_tan: O = NAMED(safe_tan)(A); break; \
    case CODE_asin: O = NAMED(safe_asin)(A); break; \
    case CODE_acos: O = NAMED(safe_acos)(A); break; \
    case CODE_atan: O = NAMED(safe_atan)(A); break; \
    case CODE_atan2: O = NAMED(safe_atan2)(A, B); break; \
    case CODE_atan2_at_b: O = NAMED(safe_atan2)(A, B); break; \
    case CODE_atan2_at_a: O = NAMED(safe_atan2)(A, B); break; \
    case CODE_sinh: O = NAMED(safe_sinh)(A); break; \
    case CODE_cosh: O = NAMED(safe_cosh)(A); break; \
    case CODE_tanh: O = NAMED(safe_tanh)(A); break; \
    case CODE_erf: O = NAMED(safe_erf)(A); break; \
    case CODE_abs: O = NAMED(safe_abs)(A); break; \
    case CODE_sign: O = NAMED(safe_sign)(A); break; \
    case CODE_maximum: O = NAMED(safe_maximum)(A, B); break; \
    case CODE_maximum_at_b: O = NAMED(safe_maximum)(A, B); break; \
    case CODE_maximum_at_a: O = NAMED(safe_maximum)(A, B); break; \
    case CODE_minimum: O = NAMED(safe_minimum)(A, B); break; \
    case CODE_minimum_at_b: O = NAMED(safe_minimum)(A, B); break; \
    case CODE_minimum_at_a: O = NAMED(safe_minimum)(A, B); break; \
    case CODE_sigmoid: O = NAMED(safe_sigmoid)(A); break; \
    case CODE_softplus: O = NAMED(safe_softplus)(A); break; \
    case CODE_log_sigmoid: O = NAMED(safe_log_sigmoid)(A); break; \
    case CODE_gelu: O = NAMED(safe_gelu)(A); break; \
    case CODE_add_of_mul: O = NAMED(safe_add_of_mul)(A, B, C); break; \
    case CODE_sub_of_mul: O = NAMED(safe_sub_of_mul)(A, B, C); break; \
    case CODE_sub_by_mul: O = NAMED(safe_sub_by_mul)(A, B, C); break; \
    case CODE_mul_of_mul: O = NAMED(safe_mul_of_mul)(A, B, C); break; \
    case CODE_mul_of_add: O = NAMED(safe_mul_of_add)(A, B, C); break; \
    case CODE_mul_of_sub: O = NAMED(safe_mul_of_sub)(A, B, C); break; \
    case CODE_neg_of_mul: O = NAMED(safe_neg_of_mul)(A, B); break; \
    case CODE_add_of_muls: O = NAMED(safe_add_of_muls)(A, B, C); break; \
    case CODE_sub_of_muls: O = NAMED(safe_sub_of_muls)(A, B, C); break; \
    default: break;
