/** Draws only what is new or another: of something that grows, that is its end. */
export function updateChildren<T>(
  parent: HTMLElement,
  items: readonly T[],
  isDrawn: (item: T, index: number) => boolean,
  draw: (item: T) => HTMLElement,
): void {
  for (const [index, item] of items.entries()) {
    const node = parent.children[index]
    if (node === undefined) parent.append(draw(item))
    else if (!isDrawn(item, index)) node.replaceWith(draw(item))
  }
  while (parent.children.length > items.length) parent.lastElementChild?.remove()
}
