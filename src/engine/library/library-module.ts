import { type LibraryModule, importModule } from './import-library-module.ts'

/**
 * Imports one module of node-llama-cpp. Its main module brings everything along, which takes half a second of
 * processor time; what the engine uses of it (chat templates, grammars of JSON schemas) is in two small parts.
 */
export async function libraryModule<Module extends object>(
  path: LibraryModule,
  isModule: (module: object) => module is Module,
): Promise<Module> {
  const module = await importModule(path)
  if (typeof module !== 'object' || module === null || !isModule(module)) {
    throw new TypeError(`node-llama-cpp's ${path} is not as expected: another version is installed`)
  }
  return module
}
