/** With fewer cores, the models need them more than the gateway does. */
const fewCores = 8
const coresPerThread = 4
const mostByDefault = 4
/** Platforms on which several threads can listen on one port. */
const sharingPlatforms: readonly NodeJS.Platform[] = ['linux', 'freebsd']

/** How many threads serve the gateway and exposed services unless a flag says otherwise. */
export function defaultServingThreads(cores: number, platform: NodeJS.Platform): number {
  if (cores < fewCores || !sharingPlatforms.includes(platform)) return 1
  return Math.min(mostByDefault, Math.floor(cores / coresPerThread))
}
