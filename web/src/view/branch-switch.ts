import { element, icon } from './element.ts'

export interface Branch {
  /** From 0. */
  readonly index: number
  readonly count: number
}

export type BranchStep = -1 | 1

/** `‹ 2 / 3 ›`: goes to another version of a message. Undefined where there is only one. */
export function branchSwitch(
  { index, count }: Branch,
  what: string,
  go: (step: BranchStep) => void,
): HTMLElement | undefined {
  if (count < 2) return undefined
  const step = (by: BranchStep) => {
    const target = index + by
    const button = element(
      'button',
      {
        type: 'button',
        class: `quiet-button branch-step ${by < 0 ? 'back' : 'forward'}`,
        'aria-label': `${by < 0 ? 'Previous' : 'Next'} version of this ${what}`,
        'data-testid': by < 0 ? 'branch-back' : 'branch-forward',
        'data-step': String(by),
        disabled: target < 0 || target >= count,
      },
      icon('chevron'),
    )
    button.addEventListener('click', () => go(by))
    return button
  }
  return element(
    'div',
    { class: 'branches', role: 'group', 'aria-label': `Versions of this ${what}`, 'data-testid': 'branches' },
    step(-1),
    element('span', { class: 'branch-count' }, `${index + 1} / ${count}`),
    step(1),
  )
}
