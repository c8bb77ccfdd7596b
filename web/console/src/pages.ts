import type { SessionView } from '../../../src/management/console/console-shapes.ts'
import type { ConsoleApi } from './api/console-api.ts'
import { auditPanel } from './view/audit-view.ts'
import { KeysView } from './view/keys-view.ts'
import { clustersPanel, exposuresPanel } from './view/lists.ts'
import { ModelDetail } from './view/model-detail.ts'
import { Overview } from './view/overview.ts'
import type { Panel } from './view/panel.ts'
import { PodDetail, PodsView } from './view/pods-view.ts'

/** The pages of the console, as its navigation shows them. */
export const pages = [
  { hash: '#/overview', title: 'Overview' },
  { hash: '#/pods', title: 'Pods' },
  { hash: '#/exposures', title: 'Exposures' },
  { hash: '#/clusters', title: 'Clusters' },
  { hash: '#/keys', title: 'Keys' },
  { hash: '#/audit', title: 'Audit' },
] as const

/** What the address after `#` shows; anything unknown is the overview. */
export function panelOf(hash: string, api: ConsoleApi, session: SessionView): Panel {
  const [page = '', ...names] = hash.replace(/^#\//, '').split('/').map(decoded)
  const [first, second] = names
  if (page === 'pods' && first !== undefined && second !== undefined) return new PodDetail(api, first, second)
  if (page === 'pods') return new PodsView()
  if (page === 'models' && first !== undefined) return new ModelDetail(api, first, session)
  if (page === 'exposures') return exposuresPanel()
  if (page === 'clusters') return clustersPanel()
  if (page === 'keys') return new KeysView(api, session)
  if (page === 'audit') return auditPanel(api)
  return new Overview(api, session)
}

/** What the browser's tab says: the page, or the model or Pod that is shown. */
export function titleOf(hash: string): string {
  const [page = '', ...names] = hash.replace(/^#\//, '').split('/').map(decoded)
  const named = pages.find((known) => known.hash === `#/${page}`)?.title ?? pages[0].title
  return `${names.at(-1) ?? named} · Sluice console`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
