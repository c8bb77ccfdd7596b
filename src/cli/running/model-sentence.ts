import type { LoadingPhase, ModelLoading, ModelPhase } from '../../resources/model.ts'

const loadingWords: Record<LoadingPhase, string> = {
  Starting: 'starting the program that runs it',
  Copying: 'copying its files to the machine that runs it',
  Reading: 'reading its files',
  Loading: 'loading it into memory',
  Preparing: 'almost there',
}

/** What is said of a model, by its status or by the gateway. */
export interface ModelState {
  readonly phase?: ModelPhase | undefined
  readonly message?: string | undefined
  readonly loading?: Pick<ModelLoading, 'phase' | 'percent' | 'stalled'> | undefined
  readonly lastLoadSeconds?: number | undefined
}

/** A load that is over sooner is not worth a word about how long it takes. */
const worthTellingSeconds = 5

/** What happens with a model, in plain words: `Waking: reading its files, 45 %.` */
export function modelSentence(status: ModelState | undefined): string {
  const { phase = 'Asleep', loading, message, lastLoadSeconds } = status ?? {}
  if (phase === 'Ready') return 'Awake.'
  if (phase === 'Asleep') return 'Asleep.'
  if (phase === 'Draining') return 'Going to sleep: what it answers now is finished first.'
  if (phase === 'Failed') return message ?? 'It cannot start.'
  const took = lastLoadSeconds ?? 0
  const lastTime = took < worthTellingSeconds ? '' : ` (last time it took ${took} s)`
  return `Waking: ${loading ? loadingText(loading) : 'its program starts'}${lastTime}.`
}

function loadingText({ phase, percent, stalled }: NonNullable<ModelState['loading']>): string {
  const share = percent === undefined ? '' : `, ${percent} %`
  return `${loadingWords[phase]}${share}${stalled === true ? ', but nothing has moved for a while' : ''}`
}
