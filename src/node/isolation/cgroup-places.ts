/** Where this process's group of a controller is, and which version it has. */
export interface CgroupPlace {
  readonly version: 'v1' | 'v2'
  /** The folder of the group this program is in; new groups are only made below it. */
  readonly folder: string
}

export const controllers = ['memory', 'cpu', 'pids'] as const
export type Controller = (typeof controllers)[number]

interface CgroupMount {
  readonly root: string
  readonly point: string
  readonly version: 'v1' | 'v2'
  readonly controllers: readonly string[]
}

/**
 * Finds this process's group of each controller, from `/proc/self/mountinfo` and `/proc/self/cgroup`. A machine may
 * have some controllers in v1 hierarchies and others in the unified one; `unified` lists those of the latter at a
 * folder.
 */
export function cgroupPlaces(
  mountinfo: string,
  membership: string,
  unified: (folder: string) => readonly string[],
): Map<Controller, CgroupPlace> {
  const mounts = mountinfo.split('\n').flatMap(readMount)
  const groups = membership.split('\n').flatMap((line) => {
    const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    return names === undefined || path === undefined ? [] : [{ controllers: names.split(','), path }]
  })
  const places = new Map<Controller, CgroupPlace>()
  for (const controller of controllers) {
    const old = mounts.find((mount) => mount.version === 'v1' && mount.controllers.includes(controller))
    const oldPath = groups.find((group) => group.controllers.includes(controller))?.path
    if (old && oldPath !== undefined) {
      const folder = folderIn(old, oldPath)
      if (folder !== undefined) places.set(controller, { version: 'v1', folder })
      continue
    }
    const mount = mounts.find(({ version }) => version === 'v2')
    const path = groups.find((group) => group.controllers[0] === '')?.path
    const folder = mount && path !== undefined ? folderIn(mount, path) : undefined
    if (folder !== undefined && unified(folder).includes(controller)) places.set(controller, { version: 'v2', folder })
  }
  return places
}

function readMount(line: string): CgroupMount[] {
  const [before = '', after = ''] = line.split(' - ')
  const [, , , root = '', point = ''] = before.split(' ')
  const [type, , options = ''] = after.split(' ')
  if (type === 'cgroup2') return [{ root, point, version: 'v2', controllers: [] }]
  return type === 'cgroup' ? [{ root, point, version: 'v1', controllers: options.split(',') }] : []
}

/** `undefined` for a group outside of what is mounted, which we cannot see. */
function folderIn({ root, point }: CgroupMount, path: string): string | undefined {
  if (path.includes('..')) return undefined
  if (root === '/') return path === '/' ? point : point + path
  if (path === root) return point
  return path.startsWith(`${root}/`) ? point + path.slice(root.length) : undefined
}
