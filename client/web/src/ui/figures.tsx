// A small table: figures beside what they are of.

export interface FigureRow {
  name: string;
  figures: string[];
}

/** `head`: of the names, and of each column of figures. */
export function Figures({ head, rows, label }: { head: string[]; rows: FigureRow[]; label?: string }) {
  return (
    <table class="table dense" aria-label={label}>
      <thead>
        <tr>
          {head.map((text, index) => (
            <th key={text} scope="col" class={index > 0 ? 'number' : ''}>
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, figures }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {figures.map((figure, index) => (
              <td key={index} class="number">
                {figure}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
