// The management API alone in a process, with its log in a file as in `sluice up`.
//   node bench/management-program.ts CLUSTERS LOG_FILE → prints its port and what to send as Authorization
import { openLogFile } from '../src/platform/data/log-file.ts'
import { startManagement } from './management-stage.ts'

const [clusters = '1', logPath = '/dev/null'] = process.argv.slice(2)
const { server, authorization } = await startManagement(Number(clusters), openLogFile(logPath))
console.log(`${server.port} ${authorization}`)
process.on('SIGTERM', () => process.exit(0))
