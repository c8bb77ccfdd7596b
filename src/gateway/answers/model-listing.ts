import type { CatalogModel } from '../../traffic/model-catalog.ts'

/** A model in OpenAI's listing, with Sluice's own fields added. */
export function openAiModel({ name, owner, createdAtMs, phase, message }: CatalogModel) {
  return {
    id: name,
    object: 'model',
    created: Math.floor(createdAtMs / 1000),
    owned_by: owner ?? 'sluice',
    sluice: message === undefined ? { phase } : { phase, message },
  }
}

export function openAiModelList(models: readonly CatalogModel[]) {
  return { object: 'list', data: models.map(openAiModel) }
}
