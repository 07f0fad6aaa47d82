"""How is text that someone else wrote made unable to do anything? Pure; escaping stays the template's."""

import unicodedata

# Controls, formats (bidirectional ones among them), private use, surrogates, line and paragraph breaks, what is no
# character at all.
INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}


def visible(text: object) -> str:
    """Return the text with every invisible character written out, e.g. `⟨U+202E⟩`."""
    return "".join(_visible(character) for character in str(text))


def shows_nothing(text: str) -> bool:
    """Say whether a reader would see nothing of it: only spaces and what has no shape of its own."""
    return all(character.isspace() or unicodedata.category(character) in INVISIBLE for character in text)


def _visible(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if unicodedata.category(character) in INVISIBLE else character
