import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Container } from '../../resources/pod.ts'
import { linkSignals } from '../../foundation/linked-signal.ts'
import { type LifecycleHandler, containerParts } from '../pods/pod-parts.ts'
import type { PodRuntime, RunningContainer } from '../pod-runtime.ts'
import { checkHttp } from '../probes/http-check.ts'
import { portOf } from '../probes/probe-check.ts'

/** Runs a lifecycle hook to its end. Returns a sentence about what went wrong, if anything did. */
export async function runHandler(
  handler: LifecycleHandler,
  container: Container,
  running: RunningContainer,
  runtime: Pick<PodRuntime, 'exec'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    if (handler.exec) {
      const { exitCode } = await runtime.exec(running.podUid, container.name, handler.exec.command, {}, signal)
      if (signal.aborted) return 'it did not end in time'
      return exitCode === 0 ? undefined : `its command ended with ${exitCode}`
    }
    if (handler.sleep) {
      await clock.sleep(handler.sleep.seconds * 1000, signal)
      return undefined
    }
    if (!handler.httpGet) return 'it has no supported action'
    const { path, port, host, scheme, httpHeaders = [] } = handler.httpGet
    const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]))
    const address = { secure: scheme === 'HTTPS', host: host ?? running.podIP, port: portOf(port, container), path }
    const result = await checkHttp({ ...address, headers }, signal)
    return result.ok ? undefined : result.message
  } catch (error) {
    return signal.aborted ? 'it did not end in time' : errorMessage(error)
  }
}

const postStartDeadlineMs = 10 * 60_000

/** Runs the postStart hook, as long as the container runs. */
export async function runPostStart(
  container: Container,
  running: RunningContainer,
  runtime: Pick<PodRuntime, 'exec'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { postStart } = containerParts(container).lifecycle
  if (!postStart) return undefined
  const over = linkSignals(signal)
  const cancel = clock.after(postStartDeadlineMs, () => over.abort(new Error('the hook took too long')))
  void running.exited.then(() => over.abort(new Error('the container ended')))
  const problem = await runHandler(postStart, container, running, runtime, clock, over.signal)
  cancel()
  over.release()
  return problem
}
