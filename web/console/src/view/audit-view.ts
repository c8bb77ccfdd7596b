import type { AuditView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'
import { sectionWith } from './sections.ts'
import type { Panel } from './panel.ts'
import { table } from './table.ts'

/** Who has changed what lately. Read once: the log grows with everything, also with what nobody looks for. */
export function auditPanel(api: ConsoleApi): Panel {
  const content = element('div', {})
  const again = element('button', { class: 'button', type: 'button' }, 'Read again')
  const show = async () => {
    try {
      const lines = await api.ask<AuditView[]>('audit')
      const rows = lines.map(({ at, user, verb, resource, name, status }) => [
        new Date(at).toLocaleString(),
        user,
        `${verb} ${resource}`,
        name,
        status >= 400 ? element('strong', { class: 'warning' }, String(status)) : String(status),
      ])
      content.replaceChildren(table(['When', 'Who', 'What', 'Object', 'Answer'], rows))
    } catch (error) {
      content.replaceChildren(element('p', { class: 'empty' }, error instanceof Error ? error.message : String(error)))
    }
  }
  again.addEventListener('click', () => void show())
  void show()
  return { element: sectionWith('Audit', [again], content), update: () => {} }
}
