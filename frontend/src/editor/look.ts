/** Colours and measures of every code view, all from CSS variables so that a change of theme needs no new editor. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const view = EditorView.theme({
  "&": { height: "100%", fontSize: "var(--size-code)", backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: "var(--mono)",
    fontVariantLigatures: "none",
    fontFeatureSettings: '"liga" 0, "calt" 0',
    lineHeight: "18px",
    overflow: "auto",
  },
  ".cm-content": { padding: "4px 0", caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--text-faint)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "28px", padding: "0 8px 0 4px" },
  ".cm-cursor": { borderLeftColor: "var(--text)", borderLeftWidth: "2px" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hover) 55%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "light-dark(#cfe1fa, #2b4768)",
  },
  ".cm-selectionMatch": { backgroundColor: "light-dark(#e6eefa, #26384f)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "transparent",
    outline: "1px solid var(--line-strong)",
  },
  ".cm-searchMatch": { backgroundColor: "var(--warn-fill)", outline: "1px solid var(--warn)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panel.cm-search": { padding: "4px 8px" },
  ".cm-textfield": { backgroundColor: "var(--paper)", border: "1px solid var(--line-strong)" },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "none",
    borderRadius: "var(--radius)",
    boxShadow: "var(--shadow)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "240px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px", lineHeight: "20px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--selected)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--text-faint)", fontStyle: "normal", marginLeft: "12px" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 12px", maxWidth: "360px", fontFamily: "var(--font)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad) 1px",
    textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
  },
  ".cm-lintPoint-error::after": { borderBottomColor: "var(--bad)" },
  ".cm-diagnostic": {
    padding: "6px 10px",
    maxWidth: "520px",
    fontFamily: "var(--font)",
    whiteSpace: "pre-wrap",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-gutter-lint": { width: "14px" },
  ".cm-gutter-lint .cm-gutterElement": { display: "flex", alignItems: "center", padding: "0 2px" },
  ".cm-lint-marker": { width: "10px", height: "10px" },
  ".cm-placeholder": { color: "var(--text-faint)" },
});

const words = HighlightStyle.define([
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--code-comment)" },
  {
    tag: [tags.keyword, tags.controlKeyword, tags.modifier, tags.operatorKeyword],
    color: "var(--code-keyword)",
  },
  { tag: [tags.typeName, tags.standard(tags.typeName), tags.namespace], color: "var(--code-type)" },
  { tag: [tags.number, tags.bool, tags.atom, tags.null], color: "var(--code-number)" },
  { tag: [tags.string, tags.character, tags.special(tags.string)], color: "var(--code-string)" },
  {
    tag: [tags.standard(tags.name), tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: "var(--code-name)",
  },
  { tag: [tags.processingInstruction, tags.meta, tags.annotation], color: "var(--code-meta)" },
  { tag: [tags.operator, tags.punctuation, tags.bracket, tags.separator], color: "var(--text-soft)" },
]);

export const look: Extension = [view, syntaxHighlighting(words)];
