import type { CatalogModel } from '../../traffic/model-catalog.ts'

/** A model as OpenAI lists it, with what Sluice knows besides. */
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
