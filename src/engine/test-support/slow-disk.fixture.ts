import { execFile, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, read, readFileSync, write } from 'node:fs'
import { promisify } from 'node:util'

/** Why no slow disk can be made on this machine, if none can. */
export const slowDiskMissing =
  process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/dev/fuse')
    ? 'needs Linux, root and /dev/fuse'
    : undefined

const requests = { lookup: 1, forget: 2, getattr: 3, open: 14, read: 15, release: 18, flush: 25, init: 26, access: 34 }
const batchForget = 42
const headerBytes = 40
const noEntry = -2
const notSupported = -38
const rootNode = 1n
const fileNode = 2n
const readAheadBytes = 128 * 1024
/** llama.cpp looks at the end of a file first. It is delivered at once. */
const endBytes = 64 * 1024
const readCallback = promisify(read)
const writeCallback = promisify(write)

/**
 * A folder with one file in it, on a disk of its own that delivers only as much of it as a test allows: a read beyond
 * that hangs, as on a disk that is stuck, until more is allowed. It is a real file system, which the kernel asks
 * through /dev/fuse, so that the file can be mapped into memory like any other.
 */
export class SlowDisk {
  readonly #name: string
  readonly #content: Buffer
  readonly #folder: string
  readonly #device: number
  readonly #waiting: (() => void)[] = []
  readonly #served: Promise<void>
  #allowedBytes = 0
  #isClosed = false

  constructor(folder: string, name: string, file: string) {
    this.#folder = folder
    this.#name = name
    this.#content = readFileSync(file)
    this.#device = openSync('/dev/fuse', 'r+')
    const options = `fd=3,rootmode=40000,user_id=0,group_id=0,max_read=${readAheadBytes}`
    const mounted = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'slow-disk', folder], {
      stdio: ['ignore', 'inherit', 'inherit', this.#device],
    })
    if (mounted.status !== 0) throw new Error('the slow disk cannot be mounted')
    this.#served = this.#serve()
  }

  /** Lets this many bytes from the file's beginning be read. */
  allow(bytes: number): void {
    this.#allowedBytes = bytes
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.allow(Infinity)
    // It may ask the disk something, so nothing here may wait for it synchronously. By force, because a container that
    // was made meanwhile has the disk in its namespace, too, and would keep it there.
    await promisify(execFile)('umount', ['-f', '-l', this.#folder])
    await this.#served
    closeSync(this.#device)
  }

  async #serve(): Promise<void> {
    const buffer = Buffer.alloc(1 << 20)
    for (;;) {
      const length = await readCallback(this.#device, buffer, 0, buffer.length, null).then(
        ({ bytesRead }) => bytesRead,
        // The file system was unmounted.
        () => 0,
      )
      if (length === 0) return
      // Answered without waiting, because several reads may hang at once.
      void this.#answer(Buffer.from(buffer.subarray(0, length)))
    }
  }

  async #answer(request: Buffer): Promise<void> {
    const code = request.readUInt32LE(4)
    if (code === requests.forget || code === batchForget) return
    const unique = request.readBigUInt64LE(8)
    const node = request.readBigUInt64LE(16)
    const body = request.subarray(headerBytes)
    const answer = await this.#bodyOf(code, node, body)
    const error = typeof answer === 'number' ? answer : 0
    const content = typeof answer === 'number' ? Buffer.alloc(0) : answer
    const header = Buffer.alloc(16)
    header.writeUInt32LE(header.length + content.length, 0)
    header.writeInt32LE(error, 4)
    header.writeBigUInt64LE(unique, 8)
    // The asker may have been killed meanwhile.
    await writeCallback(this.#device, Buffer.concat([header, content])).catch(() => {})
  }

  async #bodyOf(code: number, node: bigint, body: Buffer): Promise<Buffer | number> {
    switch (code) {
      case requests.init:
        return initAnswer(body)
      case requests.lookup:
        return body.subarray(0, body.indexOf(0)).toString() === this.#name ? this.#entry() : noEntry
      case requests.getattr:
        return Buffer.concat([timeout(), this.#attributes(node)])
      case requests.open:
        return Buffer.alloc(16)
      case requests.read:
        return this.#read(Number(body.readBigUInt64LE(8)), body.readUInt32LE(16))
      case requests.release:
      case requests.flush:
      case requests.access:
        return Buffer.alloc(0)
      default:
        return notSupported
    }
  }

  async #read(offset: number, size: number): Promise<Buffer> {
    const end = Math.min(offset + size, this.#content.length)
    if (offset >= this.#content.length - endBytes) return this.#content.subarray(offset, end)
    while (!this.#isClosed && end > this.#allowedBytes) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    }
    return this.#content.subarray(offset, end)
  }

  #entry(): Buffer {
    const head = Buffer.alloc(40)
    head.writeBigUInt64LE(fileNode, 0)
    head.writeBigUInt64LE(3600n, 16)
    head.writeBigUInt64LE(3600n, 24)
    return Buffer.concat([head, this.#attributes(fileNode)])
  }

  #attributes(node: bigint): Buffer {
    const isRoot = node === rootNode
    const attributes = Buffer.alloc(88)
    attributes.writeBigUInt64LE(node, 0)
    attributes.writeBigUInt64LE(isRoot ? 0n : BigInt(this.#content.length), 8)
    attributes.writeBigUInt64LE(isRoot ? 0n : BigInt(Math.ceil(this.#content.length / 512)), 16)
    attributes.writeUInt32LE(isRoot ? 0o40755 : 0o100444, 60)
    attributes.writeUInt32LE(1, 64)
    attributes.writeUInt32LE(4096, 80)
    return attributes
  }
}

function timeout(): Buffer {
  const valid = Buffer.alloc(16)
  valid.writeBigUInt64LE(3600n, 0)
  return valid
}

function initAnswer(body: Buffer): Buffer {
  const answer = Buffer.alloc(64)
  answer.writeUInt32LE(7, 0)
  answer.writeUInt32LE(31, 4)
  answer.writeUInt32LE(Math.min(readAheadBytes, body.readUInt32LE(8)), 8)
  answer.writeUInt16LE(16, 16)
  answer.writeUInt16LE(12, 18)
  answer.writeUInt32LE(4096, 20)
  answer.writeUInt32LE(1, 24)
  return answer
}
