import type { LimitSupport } from '../isolation/cgroups.ts'
import type { Isolation } from '../isolation/detect-isolation.ts'
import type { RuntimeFacts } from '../pod-runtime.ts'

/** Describes how Pods run here. */
export function runtimeFacts(isolation: Isolation, limits: LimitSupport, folder: string): RuntimeFacts {
  return {
    namespaces: isolation.mode === 'namespaces',
    isolationMessage:
      isolation.mode === 'namespaces'
        ? 'Containers have namespaces, a root and rights of their own.'
        : `Mount paths are replaced in command, args and env: ${isolation.reason}.`,
    limitsEnforced: limits.memory && limits.cpu,
    limitsMessage: limits.message,
    folder,
  }
}
