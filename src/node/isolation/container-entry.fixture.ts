import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Mount } from '../volumes/volume-mounts.ts'
import { type ContainerEntry, containerEntry } from './container-entry.ts'
import type { ContainerScript } from './container-script.ts'
import { viewSteps } from './container-view.ts'
import type { NamespaceTools } from './isolated-command.ts'

/**
 * The entry of a container that runs the machine's programs, with its files in `folder`; it keeps all rights by
 * default.
 */
export function machineEntry(
  tools: NamespaceTools,
  folder: string,
  entry: Pick<ContainerEntry, 'words'> & Partial<ContainerEntry>,
  mounts: readonly Mount[] = [],
): ContainerScript {
  mkdirSync(join(folder, 'root'), { recursive: true })
  const view = viewSteps({
    base: { kind: 'machine', visible: [process.execPath] },
    own: folder,
    mounts,
    readOnlyRoot: false,
    cards: [],
    groups: [],
    covered: [],
    workingDir: '/',
    asUser: tools.asUser,
  })
  return containerEntry({
    users: tools.asUser ? { uid: 0, gid: 0 } : undefined,
    cgroups: [],
    sysctls: [],
    view,
    workingDir: '/',
    env: {},
    rights: [],
    output: join(folder, 'output'),
    exitFile: join(folder, 'exit'),
    ...entry,
  })
}
