import type { Pod } from '../../resources/pod.ts'
import type { RuntimeClass } from '../../resources/runtime-class.ts'

/** The only handler that a RuntimeClass can name on this node. */
const ownHandler = 'sluice'

/** Why a Pod's RuntimeClass cannot be used, if so. A Pod without one runs as usual. */
export async function missingHandler(
  pod: Pod,
  find: (name: string) => Promise<RuntimeClass | undefined>,
): Promise<string | undefined> {
  const { runtimeClassName: name } = pod.spec
  if (name === undefined || name === '') return undefined
  const runtimeClass = await find(name)
  if (!runtimeClass) return `Failed to create pod sandbox: RuntimeClass "${name}" not found`
  const { handler } = runtimeClass
  if (handler === ownHandler || handler === '') return undefined
  return (
    `Failed to create pod sandbox: no runtime for "${handler}" is configured, which the RuntimeClass "${name}" names: ` +
    `the only handler of this node is "${ownHandler}".`
  )
}
