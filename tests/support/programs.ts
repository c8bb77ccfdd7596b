import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The oldest minor version that the suites have been run with. */
const oldestKubectl = 27

/** The real kubectl: from KUBEBUILDER_ASSETS, else from the PATH; undefined when there is none that is new enough. */
export const kubectlPath = newEnough(
  firstExisting(
    process.env['KUBEBUILDER_ASSETS'] && join(process.env['KUBEBUILDER_ASSETS'], 'kubectl'),
    ...onPath('kubectl'),
  ),
)

function newEnough(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  const { stdout } = spawnSync(path, ['version', '--client', '--output=json'], { encoding: 'utf8', timeout: 20_000 })
  const minor = Number(/"minor": "(\d+)/.exec(stdout)?.[1] ?? 0)
  return minor >= oldestKubectl ? path : undefined
}

export const chromiumPath = firstExisting('/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome')

export const chromiumFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, for at most a minute. A failing exit code is a result, not an exception. */
export async function runProgram(
  program: string,
  args: readonly string[],
  input?: string,
  timeout = 60_000,
): Promise<Finished> {
  const running = run(program, [...args], { timeout, maxBuffer: 16 * 1024 * 1024 })
  // A program may end before it has read.
  running.child.stdin?.on('error', () => {}).end(input ?? '')
  try {
    return { code: 0, ...(await running) }
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: number | string; stdout?: string; stderr?: string }
    return { code: typeof code === 'number' ? code : 1, stdout: stdout ?? '', stderr: stderr ?? String(error) }
  }
}

function onPath(name: string): string[] {
  return (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name))
}

function firstExisting(...paths: Array<string | undefined>): string | undefined {
  return paths.find((path) => path !== undefined && path !== '' && existsSync(path))
}
