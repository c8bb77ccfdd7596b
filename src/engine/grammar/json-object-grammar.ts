import type { GrammarRule } from './values/grammar-rule.ts'

/** Any JSON value, in the notation of llama.cpp's grammars. A value ends where it ends: no white space follows it. */
const valueRules = [
  String.raw`any-value ::= any-object | any-list | any-text | any-number | "true" | "false" | "null"`,
  String.raw`any-object ::= "{" any-space (any-text ":" any-space any-value ("," any-space any-text ":" any-space any-value)* any-space)? "}"`,
  String.raw`any-list ::= "[" any-space (any-value ("," any-space any-value)* any-space)? "]"`,
  String.raw`any-text ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\""`,
  String.raw`any-number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,16})? ([eE] [-+]? [1-9] [0-9]{0,2})?`,
  String.raw`any-space ::= | " " | "\n" [ \t]{0,20}`,
]

export const anyValueRule: GrammarRule = { expression: 'any-value', rules: valueRules }

/** Any JSON object. */
export const jsonObjectGrammar = ['root ::= any-object', ...valueRules].join('\n')
