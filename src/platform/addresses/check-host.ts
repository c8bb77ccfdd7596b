import { once } from 'node:events'
import { createServer } from 'node:net'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'

const reasons: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'nobody can be asked for that name now',
  EINVAL: 'it is no address of this machine',
}

/** Whether this machine can listen at an address or name at all, before anything is opened that would be left half. */
export async function checkHost(host: string): Promise<void> {
  const server = createServer()
  try {
    server.listen(0, host)
    await once(server, 'listening')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason = `Nobody can listen at ${host}: ${reasons[code] ?? errorMessage(error)}. Use 127.0.0.1, 0.0.0.0 or an address of this machine.`
    throw new SluiceError('invalid_flag', { flag: '--host', reason }, { cause: error })
  } finally {
    server.close()
  }
}
