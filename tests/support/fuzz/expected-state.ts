import { isDeepStrictEqual } from 'node:util'
import type { KubernetesObject } from '../../../src/resources/kubernetes-object.ts'
import type { Pod } from '../../../src/resources/pod.ts'
import type { ContainerProgram } from './container-programs.ts'
import type { WantedObject, WantedPods } from './wanted-object.ts'

/** What exists of a wanted object: itself, and the Pods with its label that are not being deleted. */
export interface LiveState {
  readonly object: KubernetesObject | undefined
  readonly pods: readonly Pod[]
}

/** What differs from what the object's spec and the exits of its programs imply, in words. */
export function differences(wanted: WantedObject, { object, pods }: LiveState): readonly string[] {
  if (!object) return ['is gone']
  if (object.metadata.deletionTimestamp !== undefined) return ['is being deleted, which nobody asked for']
  const found: string[] = []
  for (const [field, value] of Object.entries(wanted.fields)) {
    if (!isDeepStrictEqual(object[field], value)) found.push(`has another ${field} than was written last`)
  }
  if (!wanted.pods) return found
  const wrong = pods.flatMap((pod) =>
    podDifferences(pod, wanted.pods, wanted.kills).map((text) => `${pod.metadata.name} ${text}`),
  )
  // While an update cannot finish, there are Pods of two templates.
  return [...found, ...countDifferences(wanted, wanted.pods, object, pods), ...(wanted.pods.mixed ? [] : wrong)]
}

function countDifferences(
  wanted: WantedObject,
  of: WantedPods,
  object: KubernetesObject,
  pods: readonly Pod[],
): string[] {
  const { replicas, program, mixed, cards } = of
  const count = pods.length
  const said = (range: string) => [`has ${count} Pods instead of ${range}`]
  switch (wanted.kind.kind) {
    case 'Pod':
      return []
    case 'Job': {
      const conditions = conditionsOf(object)
      if (program.ends === 'never') return wanted.kills > 0 || count >= replicas ? [] : said(String(replicas))
      const expected = program.ends === 0 && wanted.kills === 0 ? 'Complete' : 'Failed'
      if (wanted.kills > 0 && conditions.length > 0) return []
      return conditions.includes(expected) ? [] : [`is not ${expected} but ${conditions.join(', ') || 'under way'}`]
    }
    case 'StatefulSet': {
      // Pods are started in order: one that is not ready holds up those after it.
      const most = replicas
      const least =
        program.ends === 'never' && cards === 0 && !mixed && program.listensOn === undefined
          ? replicas
          : Math.min(1, replicas)
      return count >= least && count <= most ? [] : said(`${least} to ${most}`)
    }
    default: {
      const slack = mixed ? Math.ceil(replicas * 0.25) : 0
      return count >= replicas - slack && count <= replicas + slack
        ? []
        : said(`${replicas - slack} to ${replicas + slack}`)
    }
  }
}

function podDifferences(pod: Pod, of: WantedPods | undefined, kills: number): string[] {
  if (!of) return []
  const { program, restartPolicy, cards } = of
  const wrongCode = codeDifference(pod, program)
  if (wrongCode !== undefined) return [wrongCode]
  const phase = pod.status?.phase
  const state = pod.status?.containerStatuses?.[0]?.state
  const waiting = state?.waiting
  const where = pod.spec.nodeName ?? 'no node'
  const described = `is ${phase ?? 'nothing'} on ${where} (${JSON.stringify(state ?? pod.status?.conditions)})`
  if (phase === 'Pending' && cards > 0 && pod.spec.nodeName === undefined) return []
  const restarts = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && (program.ends !== 0 || kills > 0))
  if (program.ends === 'never') {
    if (restartPolicy === 'Never' && kills > 0 && phase === 'Failed') return []
    if (phase === 'Running' && state?.running) return []
    // After several kills it may be in back-off, like any container that keeps ending.
    if (kills > 0 && restarts && waiting?.reason === 'CrashLoopBackOff') return []
    // Pods share the machine's addresses. Of several that listen on one port on all addresses, one runs and the others
    // report why they cannot.
    if (program.listensOn !== undefined && (waiting !== undefined || state?.terminated !== undefined)) return []
    return [described]
  }
  if (!restarts) {
    const expected = program.ends === 0 ? 'Succeeded' : 'Failed'
    return phase === expected ? [] : [described]
  }
  const isCircling =
    waiting?.reason === 'CrashLoopBackOff' || state?.running !== undefined || state?.terminated !== undefined
  return phase === 'Succeeded' || phase === 'Failed' || !(isCircling || waiting) ? [described] : []
}

/** A program that ends by itself must end with its own exit code, whether or not Sluice was running at the time. */
function codeDifference(pod: Pod, { ends }: ContainerProgram): string | undefined {
  if (ends === 'never') return undefined
  const { state, lastState } = pod.status?.containerStatuses?.[0] ?? {}
  const other = [state?.terminated, lastState?.terminated].find((end) => end !== undefined && end.exitCode !== ends)
  return other && `ended with ${other.exitCode} (${other.reason}: ${other.message}) instead of ${ends}`
}

function conditionsOf(object: KubernetesObject): string[] {
  const status = object['status'] as { conditions?: ReadonlyArray<{ type: string; status: string }> } | undefined
  return (status?.conditions ?? []).filter(({ status }) => status === 'True').map(({ type }) => type)
}
