import type { CatalogModel, ListedModel } from '../../traffic/model-catalog.ts'

/** A model in OpenAI's listing, with Sluice's own fields added. Other names say, as vLLM does, what they stand for. */
export function openAiModel({ id, model, kind }: ListedModel) {
  const { name, owner, createdAtMs } = model
  return {
    id,
    object: 'model',
    created: Math.floor(createdAtMs / 1000),
    owned_by: owner ?? 'sluice',
    ...(kind === 'model' ? {} : { root: name }),
    ...(kind === 'adapter' ? { parent: name } : {}),
    sluice: shownState(model),
  }
}

function shownState({ phase, message, reason, features, loading, lastLoadSeconds }: CatalogModel) {
  return {
    phase,
    ...(message === undefined ? {} : { message }),
    ...(reason === undefined ? {} : { reason }),
    ...(features === undefined ? {} : { features }),
    ...(loading === undefined ? {} : { loading }),
    ...(lastLoadSeconds === undefined ? {} : { lastLoadSeconds }),
  }
}

export function openAiModelList(models: readonly ListedModel[]) {
  return { object: 'list', data: models.map(openAiModel) }
}
