/** A step for the first process of a container; `container-entry.pl` carries it out. */
export type EntryStep =
  /** Opens a file under a name, before the container's mounts may hide it. */
  | readonly ['open', name: 'exit' | 'input' | 'output' | 'control', how: '<' | '+<' | '>>', path: string]
  /**
   * Appends the program's output to a file through a pipe; also takes a control FIFO, and an input FIFO to keep open.
   */
  | readonly ['collect', output: string, control: string, input: string]
  /** Uses the process's own output as the program's. */
  | readonly ['share', name: 'output']
  | readonly ['user-map', uid: number, gid: number, outerUid: number, outerGid: number]
  /** Enters a cgroup by its `cgroup.procs` file. */
  | readonly ['group', file: string]
  | readonly ['group-namespace']
  | readonly ['hostname', name: string]
  /** Sets a sysctl by its path below `/proc/sys`. */
  | readonly ['sysctl', path: string, value: string]
  | readonly ['limit', resource: number, soft: number, hard: number]
  | readonly ['folder-root', folder: string, ...options: readonly MountOption[]]
  /** Mounts a root with overlayfs options. */
  | readonly ['layered-root', folder: string, flags: string, ...settings: readonly string[]]
  | readonly ['folder', path: string, mode: string]
  | readonly ['link', path: string, target: string]
  /** Bind-mounts. `inside` is a path in `from` that is resolved without following links; empty for all of it. */
  | readonly ['bind', from: string, inside: string, path: string, ...options: readonly MountOption[]]
  | readonly ['mount', type: string, path: string, flags: string, ...settings: readonly string[]]
  | readonly ['system-files', path: string]
  | readonly ['cover', path: string]
  | readonly ['only-read', path: string]
  /** Makes the root read-only, including the layers at these paths. */
  | readonly ['root-only-read', ...layers: readonly string[]]
  | readonly ['pivot']
  /** Reports how far the steps have been followed. */
  | readonly ['say', word: string]
  | readonly ['directory', path: string]
  | readonly ['variables', ...namesAndValues: readonly string[]]
  | readonly ['bounding', ...capabilities: readonly number[]]
  | readonly ['filter', program: Buffer]
  | readonly ['identity', uid: number, gid: number, setGroups: 0 | 1, ...groups: readonly number[]]
  | readonly ['capabilities', low: number, high: number]
  | readonly ['no-new-privileges']
  | readonly ['enter', pid: number, ...namespaces: readonly string[]]
  | readonly ['terminal', columns: number, rows: number]
  | readonly ['size', columns: number, rows: number]
  /** Lets an input end that was kept open. */
  | readonly ['input-ends']
  | readonly ['program', ...words: readonly string[]]

export type MountOption = 'ro' | 'nosuid' | 'nodev' | 'noexec'

/** Encodes steps as one message, which is ignored if it does not arrive completely. */
export function entryMessage(steps: readonly EntryStep[]): Buffer {
  return withLength(steps.map((step) => withLength(step.map((word) => withLength([bytesOf(word)])))))
}

function withLength(parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(4)
  head.writeUInt32BE(body.length)
  return Buffer.concat([head, body])
}

function bytesOf(word: string | number | Buffer): Buffer {
  return Buffer.isBuffer(word) ? word : Buffer.from(String(word))
}
