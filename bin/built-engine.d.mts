export const enginePlace: string
export const engineSources: string
export function builtEngine(folder?: string): string | undefined
