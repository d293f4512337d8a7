// Which page an address shows.
import type { VNode } from 'preact';
import { ComparePage } from './pages/compare_page.tsx';
import { DatasetPage } from './pages/dataset_page.tsx';
import { DatasetsPage } from './pages/datasets_page.tsx';
import { JobPage } from './pages/job_page.tsx';
import { JobsPage } from './pages/jobs_page.tsx';
import { ModelPage } from './pages/model_page.tsx';
import { ModelsPage } from './pages/models_page.tsx';
import { TrainPage } from './pages/train_page.tsx';
import { UploadPage } from './pages/upload_page.tsx';
import type { Route } from './router.tsx';
import { Empty } from './ui/parts.tsx';

export function pageOf(route: Route): VNode {
  const [section = 'jobs', id, ...rest] = route.parts;
  if (section === 'jobs' && !id) return <JobsPage route={route} />;
  if (section === 'jobs' && id && rest.length === 0) return <JobPage key={id} id={id} />;
  if (section === 'models' && !id) return <ModelsPage route={route} />;
  if (section === 'models' && id) return <ModelPage key={id} name={route.parts.join('/')} />;
  if (section === 'compare' && !id) return <ComparePage route={route} />;
  if (section === 'datasets' && !id) return <DatasetsPage />;
  if (section === 'datasets' && id && rest.length === 0) return <DatasetPage key={id} id={id} />;
  if (section === 'upload' && !id) return <UploadPage />;
  if (section === 'train' && !id) return <TrainPage key={route.query.toString()} route={route} />;
  return (
    <Empty title="There is no such page" action={{ href: '/jobs', text: 'To the jobs' }}>
      The address is misspelt, or what it named is gone.
    </Empty>
  );
}
