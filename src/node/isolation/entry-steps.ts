/** What the first process of a container is told to do next; `container-entry.pl` knows how. */
export type EntryStep =
  /** Opens a file under a name, before the container's own mounts may lie above it. */
  | readonly ['open', name: 'exit' | 'input' | 'output' | 'control', how: '<' | '+<' | '>>', path: string]
  /**
   * Has what the program says added to a file, through a pipe; with a FIFO to be told by, and one that is kept from
   * ending.
   */
  | readonly ['collect', output: string, control: string, input: string]
  /** The same for what the process itself writes to. */
  | readonly ['share', name: 'output']
  | readonly ['user-map', uid: number, gid: number, outerUid: number, outerGid: number]
  /** Enters a control group, by its `cgroup.procs`. */
  | readonly ['group', file: string]
  | readonly ['group-namespace']
  | readonly ['hostname', name: string]
  /** By its path below `/proc/sys`. */
  | readonly ['sysctl', path: string, value: string]
  | readonly ['limit', resource: number, soft: number, hard: number]
  | readonly ['folder-root', folder: string, ...options: readonly MountOption[]]
  /** As overlayfs takes it. */
  | readonly ['layered-root', folder: string, flags: string, ...settings: readonly string[]]
  | readonly ['folder', path: string, mode: string]
  | readonly ['link', path: string, target: string]
  /** `inside` is a path in `from` that is looked up without following links; empty for all of it. */
  | readonly ['bind', from: string, inside: string, path: string, ...options: readonly MountOption[]]
  | readonly ['mount', type: string, path: string, flags: string, ...settings: readonly string[]]
  | readonly ['system-files', path: string]
  | readonly ['cover', path: string]
  | readonly ['only-read', path: string]
  /** With the layers at these paths. */
  | readonly ['root-only-read', ...layers: readonly string[]]
  | readonly ['pivot']
  /** Tells whoever sent the steps how far they are followed. */
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
  /** Told to what keeps an input from ending: it may end now. */
  | readonly ['input-ends']
  | readonly ['program', ...words: readonly string[]]

export type MountOption = 'ro' | 'nosuid' | 'nodev' | 'noexec'

/** One message: of one that does not come whole, nothing is done. */
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
