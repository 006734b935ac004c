/** Light highlighting for the text forms of graphs, tile programs and ONNX models: names, numbers, types, strings. */
import { LanguageSupport, StreamLanguage } from "@codemirror/language";

const WORDS = new Set(
  (
    "program grid for pipeline parallel copy gather map reduce mma store wait token tile scope layout input output param " +
    "let kernel where else keep launch symbol compute select scan scatter loop graph node func op_type ir_version " +
    "opset_import in to from with return axes over"
  ).split(" "),
);

const listingLanguage = StreamLanguage.define<null>({
  name: "listing",
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^(#|\/\/).*/)) return "comment";
    if (stream.match(/^"[^"\n]*"?/)) return "string";
    if (stream.match(/^-?\d+(\.\d+)?(e[+-]?\d+)?/i)) return "number";
    const name = stream.match(/^[%@]?[\p{L}_][\p{L}\p{N}_.]*/u) as RegExpMatchArray | null;
    if (name) {
      if (/^(b?f|[iu])\d+(e\dm\d)?$|^bool$|^float\d*$|^int\d+$/.test(name[0])) return "typeName";
      if (WORDS.has(name[0].toLowerCase())) return "keyword";
      return /^\s*\(/.test(stream.string.slice(stream.pos)) ? "variableName.standard" : "variableName";
    }
    stream.next();
    return "punctuation";
  },
});

export const listing = (): LanguageSupport => new LanguageSupport(listingLanguage);
