import { userInfo } from 'node:os'
import { join } from 'node:path'

/**
 * The folder that Pods share for this, named by a variable, else one in the user's cache folder. The HOME of a Pod
 * would not do, since it is removed with the Pod.
 */
export function engineCacheFolder(environment: NodeJS.ProcessEnv, variable: string, name: string): string {
  const given = environment[variable]
  if (given !== undefined && given !== '') return given
  return join(environment['XDG_CACHE_HOME'] || join(homeOfUser(environment), '.cache'), 'sluice', name)
}

function homeOfUser(environment: NodeJS.ProcessEnv): string {
  try {
    return userInfo().homedir
  } catch {
    // The user has no entry in /etc/passwd, as in some containers.
    return environment['HOME'] ?? '/nonexistent'
  }
}
