"""Writes utf7.json: local parts with a "+", and what UTF-7 makes of each.

Run it in this folder: python3 utf7.py >utf7.json
"""

import base64
import json
import random
import string

DIGITS = string.ascii_letters + string.digits + "+"  # base64 without the slash, which no local part has
LOWER = set(string.ascii_lowercase + string.digits + "+")
rng = random.Random(7)


def encode(text):
    return "+" + base64.b64encode(text.encode("utf-16-be")).decode().rstrip("=")


def digits(least, most):
    return "".join(rng.choice(DIGITS) for _ in range(rng.randint(least, most)))


def swap_cases(text):
    return "".join(rng.choice((c, c.swapcase())) for c in text)


def tag():
    word = rng.choice(["order", "invoice", "sign-up", "ADMIN", "Test", "x-1", "beta", "4711", "a", "Shop+Berlin"])
    return rng.choice(["kate", "qa", "o'brien", "t.e_st", ""]) + "+" + word + rng.choice(["", "-1", "-" + digits(1, 4), digits(1, 3)])


def noise():
    return rng.choice(["qa", "q-a", ""]) + "+" + digits(1, 12) + rng.choice(["", "-", "-x"])


def hidden():
    """Another address, whose punctuation is hidden, after characters that hide nothing."""
    before = "".join(chr(rng.randint(0x3400, 0xD7FF)) for _ in range(rng.randint(0, 2)))
    at, comma = rng.choice("@@@\uff20\ufe6b"), rng.choice(",,;\uff0c >")
    return "victim" + rng.choice(["", "+", "+x"]) + encode(before + at) + "-evil.com" + encode(comma) + "-" + rng.choice(["", "qa"])


def hidden_in_lower_case():
    """An address that appears when the local part is put in lower case."""
    while True:
        before = "".join(chr(rng.randint(0x6800, 0xD7FF)) for _ in range(rng.randint(1, 2)))
        encoded = encode(before + rng.choice("\uff20\ufe6b"))
        if set(encoded) <= LOWER:
            return "victim" + swap_cases(encoded) + "-evil.com"


def decodings(text):
    """What decoders make of text: they differ in errors, and in the "+" at which they begin."""
    found = set()
    for at in [i for i, c in enumerate(text) if c == "+"]:
        for errors in ("strict", "ignore"):
            try:
                found.add(text[:at] + text[at:].encode().decode("utf-7", errors))
            except UnicodeDecodeError:
                pass
    return sorted(found - {text})


table = {}
for make, count in ((tag, 300), (noise, 400), (hidden, 600), (hidden_in_lower_case, 200)):
    for _ in range(count):
        made = make()
        if set(made) <= set(DIGITS + "-._'"):
            table[made] = decodings(made)
            table[made.lower()] = decodings(made.lower())
print(json.dumps(table, indent=0, sort_keys=True))
