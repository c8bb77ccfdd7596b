import { readFileSync } from 'node:fs'

/** What the operating system says this process has of files. Both grow while a model is mapped into memory. */
export interface FileReads {
  /** Bytes of files that are in this process's memory now. Those that others had read before count, too. */
  readonly mappedBytes: number
  /** Bytes that disks have delivered for this process, even if memory has lost them again since. */
  readonly deliveredBytes: number
}

/**
 * llama.cpp reads a mapped file within one system call, during which it says nothing: its own progress begins when all
 * has been read. The kernel's counters move meanwhile, and cost nothing. Undefined where there is no /proc.
 */
export function readFileReads(): FileReads | undefined {
  const mapped = figureIn('/proc/self/status', /^RssFile:\s+(\d+) kB$/m)
  if (mapped === undefined) return undefined
  return { mappedBytes: mapped * 1024, deliveredBytes: figureIn('/proc/self/io', /^read_bytes: (\d+)$/m) ?? 0 }
}

function figureIn(file: string, pattern: RegExp): number | undefined {
  try {
    const figure = pattern.exec(readFileSync(file, 'utf8'))?.[1]
    return figure === undefined ? undefined : Number(figure)
  } catch {
    return undefined
  }
}
