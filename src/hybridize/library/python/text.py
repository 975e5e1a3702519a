"""Text and bytes: re, string, textwrap, pprint, struct, hashlib, base64, uuid, html, urllib.parse, tokenizers."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import INT_V, NONE_V, STR_V, Value, stream, tup, unknown
from hybridize.library.python.rules import (
    SCALAR_V,
    STRINGS_V,
    change,
    functions_in,
    give,
    instance,
    integer,
    iterator_of,
    listed,
    methods,
    nothing,
    number,
    octets,
    opaque,
    properties,
    table,
    text,
    text_dict,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Spec

_GROUP: Final = join(STR_V, NONE_V)
_PAIR: Final = tup([INT_V, INT_V]).value


def _match(call: Call) -> Value:
    return join(instance("re.Match")(call), NONE_V)


def _matches(call: Call) -> Value:
    return iterator_of(call, instance("re.Match")(call))


def _found(call: Call) -> Value:
    return call.list_of(join(STR_V, STRINGS_V), "list", "found")


def _substitute(call: Call) -> Value:
    """`re.sub(pattern, repl, text)`: calls `repl` with each match if it is a function."""
    index = 0 if call.receiver is not None else 1
    func = functions_in(call.arg(index, "repl"))
    if func:
        call.call(func, instance("re.Match")(call))
    return tup([STR_V, INT_V]).value if call.name.endswith("subn") else STR_V


def _groups(call: Call) -> Value:
    return tup([_GROUP] * len(call.args)).value if len(call.args) > 1 else _GROUP


def _unpacked_bytes(call: Call) -> Value:
    return stream("tuple", SCALAR_V).value


def _pack_into(call: Call) -> Value:
    change(call, call.arg(0 if call.receiver is not None else 1))
    return NONE_V


_REGEX: Final = {
    **{name: Spec(_match) for name in ("match", "search", "fullmatch")},
    **{name: Spec(_substitute) for name in ("sub", "subn")},
    "findall": Spec(_found),
    "finditer": Spec(_matches),
    "split": Spec(_found),
}
_HASH: Final = ClassSpec(
    methods={
        "update": Spec(nothing, effects=("mutate",)),
        "digest": Spec(octets),
        "hexdigest": Spec(text),
        "copy": Spec(lambda call: instance("hashlib.Hash")(call)),
    },
    properties={"name": text, "digest_size": integer, "block_size": integer},
)
_STRUCT: Final = {
    "pack": Spec(octets),
    "unpack": Spec(_unpacked_bytes),
    "unpack_from": Spec(_unpacked_bytes),
    "pack_into": Spec(_pack_into),
    "iter_unpack": Spec(lambda call: iterator_of(call, _unpacked_bytes(call))),
}
_URL: Final = ("scheme", "netloc", "path", "params", "query", "fragment")

FUNCTIONS: Final[dict[str, Spec]] = {
    **{f"re.{name}": spec for name, spec in _REGEX.items()},
    "re.compile": Spec(instance("re.Pattern")),
    "re.escape": Spec(text),
    "re.purge": Spec(nothing, effects=("state",)),
    **{f"regex.{name}": spec for name, spec in _REGEX.items()},
    "regex.compile": Spec(instance("re.Pattern")),
    "regex.escape": Spec(text),
    **table("string", "capwords", text),
    **table("textwrap", "dedent indent fill shorten", text),
    "textwrap.wrap": Spec(listed(STR_V)),
    **table("pprint", "pformat saferepr", text),
    **table("pprint", "pprint pp", nothing, "print"),
    **{f"struct.{name}": spec for name, spec in _STRUCT.items()},
    "struct.calcsize": Spec(integer),
    **table(
        "hashlib",
        "md5 sha1 sha224 sha256 sha384 sha512 sha3_256 sha3_512 blake2b blake2s new",
        instance("hashlib.Hash"),
    ),
    **table("hashlib", "pbkdf2_hmac scrypt", octets),
    "hmac.new": Spec(instance("hashlib.Hash")),
    "hmac.compare_digest": Spec(truth),
    **table("zlib", "compress decompress", octets),
    **table("zlib", "crc32 adler32", integer),
    **table("binascii", "hexlify unhexlify b2a_hex a2b_hex b2a_base64 a2b_base64", octets),
    "binascii.crc32": Spec(integer),
    **table(
        "base64",
        "b64encode b64decode urlsafe_b64encode urlsafe_b64decode standard_b64encode standard_b64decode "
        "b32encode b32decode b16encode b16decode b85encode b85decode encodebytes decodebytes",
        octets,
    ),
    **table("uuid", "uuid1 uuid4", instance("uuid.UUID"), "random"),
    **table("uuid", "uuid3 uuid5", instance("uuid.UUID")),
    "uuid.getnode": Spec(integer, effects=("environment",)),
    **table("html", "escape unescape", text),
    **table("unicodedata", "normalize category name bidirectional east_asian_width", text),
    **table("unicodedata", "decimal digit combining", integer),
    "unicodedata.numeric": Spec(number),
    **table("urllib.parse", "quote quote_plus unquote unquote_plus urlencode urljoin urlunparse urlunsplit", text),
    **table("urllib.parse", "urlparse urlsplit", give(tup([STR_V] * 6, "tuple", _URL).value)),
    "urllib.parse.parse_qs": Spec(lambda call: text_dict(call, call.list_of(STR_V))),
    "urllib.parse.parse_qsl": Spec(listed(tup([STR_V, STR_V]).value)),
    **table("difflib", "get_close_matches", listed(STR_V)),
    **table("difflib", "unified_diff context_diff ndiff", lambda call: iterator_of(call, STR_V)),
    **table("shlex", "quote join", text),
    "shlex.split": Spec(listed(STR_V)),
    **table("keyword", "iskeyword", truth),
    **table("ast", "literal_eval", give(unknown("a literal in a text").value)),
    **table("ast", "parse walk dump unparse", opaque),
    **table("locale", "setlocale", text, "state"),
    **table("locale", "getlocale getpreferredencoding getdefaultlocale", opaque, "environment"),
    **table("gettext", "gettext ngettext", text),
    **table("tabulate", "tabulate", text),
    **table("termcolor", "colored", text),
    "termcolor.cprint": Spec(nothing, effects=("print",)),
    **table("humanize", "naturalsize naturaltime intcomma", text),
    **table("inflection", "underscore camelize", text),
    **table("jieba", "lcut", listed(STR_V)),
    **table("jieba", "cut", lambda call: iterator_of(call, STR_V)),
    **table("jieba", "load_userdict add_word initialize", nothing, "state"),
    **table("nltk.tokenize", "word_tokenize sent_tokenize", listed(STR_V)),
    **table("nltk", "word_tokenize sent_tokenize", listed(STR_V)),
    "nltk.download": Spec(truth, effects=("io",)),
    "Levenshtein.distance": Spec(integer),
    "editdistance.eval": Spec(integer),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "re.Pattern": ClassSpec(methods=_REGEX, properties={"pattern": text, "flags": integer, "groups": integer}),
    "re.Match": ClassSpec(
        methods={
            "group": Spec(_groups),
            "groups": Spec(give(stream("tuple", _GROUP).value)),
            "groupdict": Spec(lambda call: text_dict(call, _GROUP)),
            **methods("start end", integer),
            "span": Spec(give(_PAIR)),
            "expand": Spec(text),
            "__getitem__": Spec(give(_GROUP)),
        },
        properties={"string": text, "pos": integer, "endpos": integer, "re": opaque},
    ),
    "hashlib.Hash": _HASH,
    "struct.Struct": ClassSpec(methods=_STRUCT, properties={"size": integer, "format": text}),
    "string.Template": ClassSpec(methods=methods("substitute safe_substitute", text), properties={"template": text}),
    "string.Formatter": ClassSpec(methods=methods("format vformat", text)),
    "textwrap.TextWrapper": ClassSpec(methods={"fill": Spec(text), "wrap": Spec(listed(STR_V))}),
    "pprint.PrettyPrinter": ClassSpec(
        methods={"pprint": Spec(nothing, effects=("print",)), "pformat": Spec(text)},
    ),
    "uuid.UUID": ClassSpec(properties={**properties("hex urn", text), "int": integer, "bytes": octets}),
    "difflib.SequenceMatcher": ClassSpec(
        methods={
            **methods("ratio quick_ratio real_quick_ratio", number),
            **methods("get_matching_blocks get_opcodes", listed(unknown("a matching block").value)),
            **methods("set_seqs set_seq1 set_seq2", nothing, "mutate"),
            "find_longest_match": Spec(opaque),
        },
    ),
    "sentencepiece.SentencePieceProcessor": ClassSpec(
        methods={
            **methods("Load load LoadFromFile", truth, "io"),
            **methods("EncodeAsIds encode_as_ids", listed(INT_V)),
            **methods("EncodeAsPieces encode_as_pieces", listed(STR_V)),
            **methods("DecodeIds DecodePieces decode_ids decode_pieces IdToPiece id_to_piece", text),
            **methods(
                "PieceToId piece_to_id GetPieceSize get_piece_size bos_id eos_id pad_id unk_id vocab_size", integer
            ),
            "__len__": Spec(integer),
        },
    ),
}
