export function runEngine(engine: string): void
