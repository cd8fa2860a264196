/* Printed from the table of functions by program/backends/native/tape_cases.py: do not edit. */

enum {
    TAPE_given,
    TAPE_product_with_0,
    TAPE_add,
    TAPE_sub,
    TAPE_mul,
    TAPE_div,
    TAPE_neg,
    TAPE_power,
    TAPE_pow,
    TAPE_lt,
    TAPE_le,
    TAPE_gt,
    TAPE_ge,
    TAPE_eq,
    TAPE_ne,
    TAPE_where,
    TAPE_taken,
    TAPE_untaken,
    TAPE_identity,
    TAPE_stop,
    TAPE_ratio_or_0,
    TAPE_product_or_0,
    TAPE_exp,
    TAPE_log,
    TAPE_log1p,
    TAPE_expm1,
    TAPE_sqrt,
    TAPE_square,
    TAPE_sin,
    TAPE_cos,
    TAPE_tan,
    TAPE_asin,
    TAPE_acos,
    TAPE_atan,
    TAPE_atan2,
    TAPE_sinh,
    TAPE_cosh,
    TAPE_tanh,
    TAPE_erf,
    TAPE_abs,
    TAPE_sign,
    TAPE_heaviside,
    TAPE_relu,
    TAPE_leaky_relu,
    TAPE_clip,
    TAPE_hardtanh,
    TAPE_maximum,
    TAPE_minimum,
    TAPE_sigmoid,
    TAPE_softplus,
    TAPE_log_sigmoid,
    TAPE_logaddexp,
    TAPE_elu,
    TAPE_selu,
    TAPE_silu,
    TAPE_gelu,
    TAPE_CODES
};
#define TAPE_NAMES \
    "given " \
    "product_with_0 " \
    "add " \
    "sub " \
    "mul " \
    "div " \
    "neg " \
    "power " \
    "pow " \
    "lt " \
    "le " \
    "gt " \
    "ge " \
    "eq " \
    "ne " \
    "where " \
    "taken " \
    "untaken " \
    "identity " \
    "stop " \
    "ratio_or_0 " \
    "product_or_0 " \
    "exp " \
    "log " \
    "log1p " \
    "expm1 " \
    "sqrt " \
    "square " \
    "sin " \
    "cos " \
    "tan " \
    "asin " \
    "acos " \
    "atan " \
    "atan2 " \
    "sinh " \
    "cosh " \
    "tanh " \
    "erf " \
    "abs " \
    "sign " \
    "heaviside " \
    "relu " \
    "leaky_relu " \
    "clip " \
    "hardtanh " \
    "maximum " \
    "minimum " \
    "sigmoid " \
    "softplus " \
    "log_sigmoid " \
    "logaddexp " \
    "elu " \
    "selu " \
    "silu " \
    "gelu "

static const int tape_operands[TAPE_CODES] = {
    0, /* given */
    2, /* product_with_0 */
    2, /* add */
    2, /* sub */
    2, /* mul */
    2, /* div */
    1, /* neg */
    2, /* power */
    2, /* pow */
    2, /* lt */
    2, /* le */
    2, /* gt */
    2, /* ge */
    2, /* eq */
    2, /* ne */
    3, /* where */
    2, /* taken */
    2, /* untaken */
    1, /* identity */
    1, /* stop */
    2, /* ratio_or_0 */
    2, /* product_or_0 */
    1, /* exp */
    1, /* log */
    1, /* log1p */
    1, /* expm1 */
    1, /* sqrt */
    1, /* square */
    1, /* sin */
    1, /* cos */
    1, /* tan */
    1, /* asin */
    1, /* acos */
    1, /* atan */
    2, /* atan2 */
    1, /* sinh */
    1, /* cosh */
    1, /* tanh */
    1, /* erf */
    1, /* abs */
    1, /* sign */
    2, /* heaviside */
    1, /* relu */
    2, /* leaky_relu */
    3, /* clip */
    1, /* hardtanh */
    2, /* maximum */
    2, /* minimum */
    1, /* sigmoid */
    1, /* softplus */
    1, /* log_sigmoid */
    2, /* logaddexp */
    1, /* elu */
    1, /* selu */
    1, /* silu */
    1, /* gelu */
};

#define VALUE_CASES \
    case TAPE_product_with_0: { LOAD(a) LOAD(b) const double t3 = a * b; VALUE(t3) } \
    case TAPE_add: { LOAD(a) LOAD(b) const double t3 = a + b; VALUE(t3) } \
    case TAPE_sub: { LOAD(a) LOAD(b) const double t3 = a - b; VALUE(t3) } \
    case TAPE_mul: { LOAD(a) LOAD(b) const double t3 = a * b; VALUE(t3) } \
    case TAPE_div: { LOAD(a) LOAD(b) const double t3 = a / b; VALUE(t3) } \
    case TAPE_neg: { LOAD(a) const double t2 = -a; VALUE(t2) } \
    case TAPE_power: { LOAD(a) LOAD(b) const double t3 = safe_pow_64(a, b); VALUE(t3) } \
    case TAPE_pow: { LOAD(a) LOAD(b) const double t3 = safe_pow_64(a, b); VALUE(t3) } \
    case TAPE_lt: { LOAD(a) LOAD(b) const double t3 = a < b; VALUE(t3) } \
    case TAPE_le: { LOAD(a) LOAD(b) const double t3 = a <= b; VALUE(t3) } \
    case TAPE_gt: { LOAD(a) LOAD(b) const double t3 = a > b; VALUE(t3) } \
    case TAPE_ge: { LOAD(a) LOAD(b) const double t3 = a >= b; VALUE(t3) } \
    case TAPE_eq: { LOAD(a) LOAD(b) const double t3 = a == b; VALUE(t3) } \
    case TAPE_ne: { LOAD(a) LOAD(b) const double t3 = a != b; VALUE(t3) } \
    case TAPE_where: { LOAD(a) LOAD(b) LOAD(c) const double t4 = a ? b : c; VALUE(t4) } \
    case TAPE_taken: { LOAD(a) LOAD(b) const double t3 = a ? b : 0; VALUE(t3) } \
    case TAPE_untaken: { LOAD(a) LOAD(b) const double t3 = a ? 0 : b; VALUE(t3) } \
    case TAPE_identity: { LOAD(a) VALUE(a) } \
    case TAPE_stop: { LOAD(a) VALUE(a) } \
    case TAPE_ratio_or_0: { LOAD(a) LOAD(b) const double t4 = b == 0.0; const double t6 = t4 ? 1.0 : b; const double t7 = a / t6; const double t8 = t4 ? 0.0 : t7; VALUE(t8) } \
    case TAPE_product_or_0: { LOAD(a) LOAD(b) const double t4 = a == 0.0; const double t5 = a * b; const double t6 = t4 ? 0.0 : t5; VALUE(t6) } \
    case TAPE_exp: { LOAD(a) const double t2 = safe_exp_64(a); VALUE(t2) } \
    case TAPE_log: { LOAD(a) const double t2 = safe_log_64(a); VALUE(t2) } \
    case TAPE_log1p: { LOAD(a) const double t2 = safe_log1p_64(a); VALUE(t2) } \
    case TAPE_expm1: { LOAD(a) const double t2 = safe_expm1_64(a); VALUE(t2) } \
    case TAPE_sqrt: { LOAD(a) const double t2 = sqrt(a); VALUE(t2) } \
    case TAPE_square: { LOAD(a) const double t2 = a * a; VALUE(t2) } \
    case TAPE_sin: { LOAD(a) const double t2 = safe_sin_64(a); VALUE(t2) } \
    case TAPE_cos: { LOAD(a) const double t2 = safe_cos_64(a); VALUE(t2) } \
    case TAPE_tan: { LOAD(a) const double t2 = safe_tan_64(a); VALUE(t2) } \
    case TAPE_asin: { LOAD(a) const double t2 = safe_asin_64(a); VALUE(t2) } \
    case TAPE_acos: { LOAD(a) const double t2 = safe_acos_64(a); VALUE(t2) } \
    case TAPE_atan: { LOAD(a) const double t2 = safe_atan_64(a); VALUE(t2) } \
    case TAPE_atan2: { LOAD(a) LOAD(b) const double t3 = safe_atan2_64(a, b); VALUE(t3) } \
    case TAPE_sinh: { LOAD(a) const double t2 = safe_sinh_64(a); VALUE(t2) } \
    case TAPE_cosh: { LOAD(a) const double t2 = safe_cosh_64(a); VALUE(t2) } \
    case TAPE_tanh: { LOAD(a) const double t2 = safe_tanh_64(a); VALUE(t2) } \
    case TAPE_erf: { LOAD(a) const double t2 = safe_erf_64(a); VALUE(t2) } \
    case TAPE_abs: { LOAD(a) const double t2 = fabs(a); VALUE(t2) } \
    case TAPE_sign: { LOAD(a) const double t2 = a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; VALUE(t2) } \
    case TAPE_heaviside: { LOAD(a) LOAD(b) const double t4 = a > 0.0; const double t5 = a < 0.0; const double t6 = a == 0.0; const double t7 = t6 ? b : a; const double t8 = t5 ? 0.0 : t7; const double t10 = t4 ? 1.0 : t8; VALUE(t10) } \
    case TAPE_relu: { LOAD(a) const double t3 = a > 0.0 || a != a ? a : 0.0; VALUE(t3) } \
    case TAPE_leaky_relu: { LOAD(a) LOAD(b) const double t4 = a > 0.0; const double t5 = b * a; const double t6 = t4 ? a : t5; VALUE(t6) } \
    case TAPE_clip: { LOAD(a) LOAD(b) LOAD(c) const double t4 = a > b || a != a ? a : b; const double t5 = t4 < c || t4 != t4 ? t4 : c; VALUE(t5) } \
    case TAPE_hardtanh: { LOAD(a) const double t4 = a > (-1.0) || a != a ? a : (-1.0); const double t5 = t4 < 1.0 || t4 != t4 ? t4 : 1.0; VALUE(t5) } \
    case TAPE_maximum: { LOAD(a) LOAD(b) const double t3 = a > b || a != a ? a : b; VALUE(t3) } \
    case TAPE_minimum: { LOAD(a) LOAD(b) const double t3 = a < b || a != a ? a : b; VALUE(t3) } \
    case TAPE_sigmoid: { LOAD(a) const double t2 = safe_sigmoid_64(a); VALUE(t2) } \
    case TAPE_softplus: { LOAD(a) const double t2 = safe_softplus_64(a); VALUE(t2) } \
    case TAPE_log_sigmoid: { LOAD(a) const double t2 = safe_log_sigmoid_64(a); VALUE(t2) } \
    case TAPE_logaddexp: { LOAD(a) LOAD(b) const double t3 = a == b; const double t6 = a + 0.6931471805599453; const double t7 = a > b || a != a ? a : b; const double t8 = a - b; const double t9 = fabs(t8); const double t10 = -t9; const double t11 = safe_exp_64(t10); const double t12 = safe_log1p_64(t11); const double t13 = t7 + t12; const double t14 = t3 ? t6 : t13; VALUE(t14) } \
    case TAPE_elu: { LOAD(a) const double t3 = a > 0.0; const double t4 = a < 0.0 || a != a ? a : 0.0; const double t5 = safe_expm1_64(t4); const double t6 = t3 ? a : t5; VALUE(t6) } \
    case TAPE_selu: { LOAD(a) const double t3 = a > 0.0; const double t4 = a < 0.0 || a != a ? a : 0.0; const double t5 = safe_expm1_64(t4); const double t7 = 1.6732632423543772 * t5; const double t8 = t3 ? a : t7; const double t10 = 1.0507009873554805 * t8; VALUE(t10) } \
    case TAPE_silu: { LOAD(a) const double t2 = safe_sigmoid_64(a); const double t3 = a * t2; VALUE(t3) } \
    case TAPE_gelu: { LOAD(a) const double t2 = safe_gelu_64(a); VALUE(t2) }

#define SLOPE_CASES \
    case TAPE_add: {  EDGE(a, 0, 1, 1.0) EDGE(b, 1, 1, 1.0) NEXT } \
    case TAPE_sub: {  EDGE(a, 0, 1, 1.0) EDGE(b, 1, 1, (-1.0)) NEXT } \
    case TAPE_mul: { LOAD(a) LOAD(b) EDGE(a, 0, 1, b) EDGE(b, 1, 1, a) NEXT } \
    case TAPE_div: { LOAD(b) OWN_VALUE const double t4 = 1.0 / b; const double t6 = o / b; const double t7 = -t6; EDGE(a, 0, 1, t4) EDGE(b, 1, 1, t7) NEXT } \
    case TAPE_neg: {  EDGE(a, 0, 1, (-1.0)) NEXT } \
    case TAPE_power: { LOAD(a) LOAD(b) const double t4 = b - 1.0; const double t6 = t4 == 0.5; const double t7 = sqrt(a); const double t8 = safe_pow_64(a, t4); const double t9 = t6 ? t7 : t8; const double t10 = b * t9; const double t12 = b != 0.0; const double t13 = t12 ? t10 : 0; EDGE(a, 0, t12, t13) NEXT } \
    case TAPE_pow: { LOAD(a) LOAD(b) OWN_VALUE const double t4 = b - 1.0; const double t5 = safe_pow_64(a, t4); const double t7 = b == 0.0; const double t8 = b * t5; const double t9 = t7 ? 0.0 : t8; const double t10 = safe_log_64(a); const double t11 = o == 0.0; const double t12 = o * t10; const double t13 = t11 ? 0.0 : t12; EDGE(a, 0, 1, t9) EDGE(b, 1, 1, t13) NEXT } \
    case TAPE_where: { LOAD(a) const double t6 = a ? 1.0 : 0; const double t7 = a ? 0 : 1.0; EDGE(b, 1, a, t6) EDGE(c, 2, !a, t7) NEXT } \
    case TAPE_taken: { LOAD(a) const double t5 = a ? 1.0 : 0; EDGE(b, 1, a, t5) NEXT } \
    case TAPE_untaken: { LOAD(a) const double t5 = a ? 0 : 1.0; EDGE(b, 1, !a, t5) NEXT } \
    case TAPE_identity: {  EDGE(a, 0, 1, 1.0) NEXT } \
    case TAPE_ratio_or_0: { LOAD(b) OWN_VALUE const double t5 = b == 0.0; const double t6 = t5 ? 1.0 : b; const double t7 = 1.0 / t6; const double t8 = t5 ? 0.0 : t7; const double t9 = o / t6; const double t10 = t5 ? 0.0 : t9; const double t11 = -t10; EDGE(a, 0, 1, t8) EDGE(b, 1, 1, t11) NEXT } \
    case TAPE_product_or_0: { LOAD(a) LOAD(b) const double t4 = a == 0.0; const double t5 = t4 ? 0 : a; EDGE(a, 0, 1, b) EDGE(b, 1, !t4, t5) NEXT } \
    case TAPE_exp: { OWN_VALUE EDGE(a, 0, 1, o) NEXT } \
    case TAPE_log: { LOAD(a) const double t3 = 1.0 / a; EDGE(a, 0, 1, t3) NEXT } \
    case TAPE_log1p: { LOAD(a) const double t3 = 1.0 + a; const double t4 = 1.0 / t3; EDGE(a, 0, 1, t4) NEXT } \
    case TAPE_expm1: { LOAD(a) const double t2 = safe_exp_64(a); EDGE(a, 0, 1, t2) NEXT } \
    case TAPE_sqrt: { OWN_VALUE const double t3 = 2.0 * o; const double t5 = 1.0 / t3; EDGE(a, 0, 1, t5) NEXT } \
    case TAPE_square: { LOAD(a) const double t3 = 2.0 * a; EDGE(a, 0, 1, t3) NEXT } \
    case TAPE_sin: { LOAD(a) const double t2 = safe_cos_64(a); EDGE(a, 0, 1, t2) NEXT } \
    case TAPE_cos: { LOAD(a) const double t2 = safe_sin_64(a); const double t3 = -t2; EDGE(a, 0, 1, t3) NEXT } \
    case TAPE_tan: { OWN_VALUE const double t2 = o * o; const double t4 = 1.0 + t2; EDGE(a, 0, 1, t4) NEXT } \
    case TAPE_asin: { LOAD(a) const double t3 = 1.0 - a; const double t4 = 1.0 + a; const double t5 = t3 * t4; const double t6 = sqrt(t5); const double t7 = 1.0 / t6; EDGE(a, 0, 1, t7) NEXT } \
    case TAPE_acos: { LOAD(a) const double t3 = 1.0 - a; const double t4 = 1.0 + a; const double t5 = t3 * t4; const double t6 = sqrt(t5); const double t8 = (-1.0) / t6; EDGE(a, 0, 1, t8) NEXT } \
    case TAPE_atan: { LOAD(a) const double t2 = a * a; const double t4 = 1.0 + t2; const double t5 = 1.0 / t4; EDGE(a, 0, 1, t5) NEXT } \
    case TAPE_atan2: { LOAD(a) LOAD(b) const double t3 = b * b; const double t4 = a * a; const double t5 = t3 + t4; const double t6 = b / t5; const double t8 = a / t5; const double t9 = -t8; EDGE(a, 0, 1, t6) EDGE(b, 1, 1, t9) NEXT } \
    case TAPE_sinh: { LOAD(a) const double t2 = safe_cosh_64(a); EDGE(a, 0, 1, t2) NEXT } \
    case TAPE_cosh: { LOAD(a) const double t2 = safe_sinh_64(a); EDGE(a, 0, 1, t2) NEXT } \
    case TAPE_tanh: { OWN_VALUE const double t2 = o * o; const double t4 = 1.0 - t2; EDGE(a, 0, 1, t4) NEXT } \
    case TAPE_erf: { LOAD(a) const double t3 = a * a; const double t4 = -t3; const double t5 = safe_exp_64(t4); const double t6 = 2.0 * t5; const double t9 = t6 / 1.772453850905516; EDGE(a, 0, 1, t9) NEXT } \
    case TAPE_abs: { LOAD(a) const double t2 = a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; EDGE(a, 0, 1, t2) NEXT } \
    case TAPE_heaviside: { LOAD(a) const double t4 = a == 0.0; const double t6 = t4 ? 1.0 : 0; EDGE(b, 1, t4, t6) NEXT } \
    case TAPE_relu: { LOAD(a) const double t3 = a > 0.0; const double t5 = t3 ? 1.0 : 0; EDGE(a, 0, t3, t5) NEXT } \
    case TAPE_leaky_relu: { LOAD(a) LOAD(b) const double t4 = a > 0.0; const double t6 = t4 ? 1.0 : b; const double t7 = t4 ? 0 : a; EDGE(a, 0, 1, t6) EDGE(b, 1, !t4, t7) NEXT } \
    case TAPE_clip: { LOAD(a) LOAD(b) LOAD(c) const double t4 = a - b; const double t5 = a - c; const double t7 = t5 > 0.0; const double t9 = t7 ? 0 : 1.0; const double t10 = t4 < 0.0; const double t11 = t10 ? 0 : t9; const double t12 = a < b; const double t13 = b > c; const double t14 = t13 ? 0 : 1.0; const double t15 = t12 ? t14 : 0; const double t16 = a > b || a != a ? a : b; const double t17 = t16 > c; const double t18 = t17 ? 1.0 : 0; EDGE(a, 0, (!t10 && !t7), t11) EDGE(b, 1, (t12 && !t13), t15) EDGE(c, 2, t17, t18) NEXT } \
    case TAPE_hardtanh: { LOAD(a) const double t3 = a + 1.0; const double t4 = a - 1.0; const double t6 = t4 > 0.0; const double t7 = t6 ? 0 : 1.0; const double t8 = t3 < 0.0; const double t9 = t8 ? 0 : t7; EDGE(a, 0, (!t8 && !t6), t9) NEXT } \
    case TAPE_maximum: { LOAD(a) LOAD(b) const double t3 = a - b; const double t5 = t3 < 0.0; const double t7 = t5 ? 0 : 1.0; const double t8 = t5 ? 1.0 : 0; EDGE(a, 0, !t5, t7) EDGE(b, 1, t5, t8) NEXT } \
    case TAPE_minimum: { LOAD(a) LOAD(b) const double t3 = b - a; const double t5 = t3 < 0.0; const double t7 = t5 ? 0 : 1.0; const double t8 = t5 ? 1.0 : 0; EDGE(a, 0, !t5, t7) EDGE(b, 1, t5, t8) NEXT } \
    case TAPE_sigmoid: { OWN_VALUE const double t3 = 1.0 - o; const double t4 = o * t3; EDGE(a, 0, 1, t4) NEXT } \
    case TAPE_softplus: { LOAD(a) const double t2 = safe_sigmoid_64(a); EDGE(a, 0, 1, t2) NEXT } \
    case TAPE_log_sigmoid: { LOAD(a) const double t2 = -a; const double t3 = safe_sigmoid_64(t2); EDGE(a, 0, 1, t3) NEXT } \
    case TAPE_logaddexp: { LOAD(a) LOAD(b) const double t3 = a - b; const double t4 = safe_sigmoid_64(t3); const double t5 = b - a; const double t6 = safe_sigmoid_64(t5); EDGE(a, 0, 1, t4) EDGE(b, 1, 1, t6) NEXT } \
    case TAPE_elu: { LOAD(a) const double t3 = a > 0.0; const double t4 = a < 0.0 || a != a ? a : 0.0; const double t5 = safe_exp_64(t4); const double t7 = t3 ? 1.0 : t5; EDGE(a, 0, 1, t7) NEXT } \
    case TAPE_selu: { LOAD(a) const double t3 = a < 0.0 || a != a ? a : 0.0; const double t4 = safe_exp_64(t3); const double t6 = 1.7580993408473768 * t4; const double t7 = a > 0.0; const double t9 = t7 ? 1.0507009873554805 : t6; EDGE(a, 0, 1, t9) NEXT } \
    case TAPE_silu: { LOAD(a) const double t2 = safe_sigmoid_64(a); const double t3 = -a; const double t4 = safe_sigmoid_64(t3); const double t5 = a * t4; const double t7 = 1.0 + t5; const double t8 = t2 * t7; EDGE(a, 0, 1, t8) NEXT } \
    case TAPE_gelu: { LOAD(a) const double t4 = a / 1.4142135623730951; const double t5 = safe_erf_64(t4); const double t7 = 1.0 + t5; const double t9 = 0.5 * t7; const double t10 = 0.5 * a; const double t11 = t4 * t4; const double t12 = -t11; const double t13 = safe_exp_64(t12); const double t14 = 2.0 * t13; const double t17 = t14 / 1.772453850905516; const double t18 = t10 * t17; const double t20 = t18 * 0.7071067811865476; const double t21 = t9 + t20; EDGE(a, 0, 1, t21) NEXT }
