import { expect, it } from 'vitest'
import { serveCommand } from '../src/cli/serve/serve.ts'
import { builtInEngines } from '../src/operator/engines/built-in-engines.ts'

it('refuses no option of a Model that the built-in engine has, and every other', () => {
  const names = serveCommand.flags.map(({ name }) => `--${name}`)
  expect([...builtInEngines.LlamaCpp.options].toSorted()).toEqual(names.toSorted())
})
