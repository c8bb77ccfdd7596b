export function endDescendants(patienceMs: number, ancestor?: number): Promise<void>
