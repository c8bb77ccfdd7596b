import { lastTimeSentence, loadingSentence } from '../protocol/loading.ts'
import type { ModelEntry } from '../protocol/model-list.ts'

/** What happens while a model wakes, by the reason that the list of models gives. */
const WORDS: Readonly<Record<string, string>> = {
  Asleep: 'Somebody asked for it; it is about to be started.',
  Starting: 'The program that runs it is being started.',
  Loading: 'It is being loaded into memory.',
  NoRoom: 'It waits for room: cards or memory that it needs are still in use.',
  FilesOnTheirWay: 'Its files are still being fetched.',
  EngineEnded: 'The program that runs it has ended; it is started again.',
  CrashLoopBackOff: 'The program that runs it ends again and again; it is tried once more.',
  PodFailed: 'A first try has failed; another one follows.',
  Stalled: 'A first try got stuck; another one follows.',
}

/** What a waking model does, how far it is, and how long it took last time, for people who know nothing of clusters. */
export function wakingSentence(entry: ModelEntry): string {
  const doing = entry.loading === undefined ? (WORDS[entry.reason] ?? '') : loadingSentence(entry.loading)
  return [doing, lastTimeSentence(entry.lastLoadSeconds)].filter((sentence) => sentence !== '').join(' ')
}

/** `model-<name>-<hash>-<suffix>`, as the operator names Pods. */
const POD_NAME = '(?:Pod )?model-[a-z0-9.-]{0,60}-[0-9a-f]{5}-[a-z0-9]{5}(?:-\\d+)?'
const IN_POD = new RegExp(` in ${POD_NAME}`, 'g')
const POD_AS_FIRST_WORD = new RegExp(`(^|[.!?] )${POD_NAME}`, 'g')
const POD = new RegExp(POD_NAME, 'g')

/**
 * What the server says, without the names of the Pods that a model runs in: they are random, and mean nothing to
 * somebody who chats.
 */
export function withoutPodNames(text: string): string {
  return text.replaceAll(IN_POD, '').replaceAll(POD_AS_FIRST_WORD, '$1It').replaceAll(POD, 'it')
}
