/** The modules of node-llama-cpp that the engine uses, below the folder of its main module. */
export const libraryModules = [
  './utils/LlamaText.js',
  './chatWrappers/generic/JinjaTemplateChatWrapper.js',
  './utils/gbnfJson/getGbnfGrammarForGbnfJsonSchema.js',
] as const

export type LibraryModule = (typeof libraryModules)[number]

/** Node lets nobody import parts of a package by name, so it is done by address. The built engine has them inside. */
export function importModule(path: LibraryModule): Promise<unknown> {
  return import(new URL(path, import.meta.resolve('node-llama-cpp')).href)
}
