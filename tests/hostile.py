"""Names that try to get out of the text they are written into."""

from __future__ import annotations

HOSTILE = [
    "<script>alert(1)</script>",
    '"]; node [label="x"',
    "javascript:alert(1)",
    "\\input{/etc/passwd} \\N \\G \\E \\",
    "x" * 10_000,
    "\u202eevil\u202c \u200f\u2066",
    "a:b:c;}{",
    "<b>not bold</b>",
    "<",
    ">",
    "&lt;&#60;&amp;",
    "\x00\x01\x1b[31m\n\r\t",
    "]]> <!-- --> <?xml?>",
    "' onload='alert(1)",
    "\ud800",
    "",
    "node",
    "𝕏\ufffe\U000f0000",
]
