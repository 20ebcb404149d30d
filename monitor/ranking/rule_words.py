"""Words of titles that say how a document makes, proposes, explains or carries out rules."""

from monitor.ranking.acts import BINDING_FORM, OF_A_FORM, TAIL, Act, ActRule
from monitor.ranking.form_words import OPEN_FORMS

_ASKS = (
    r"(?:征求|征集|听取|征询|谘询|咨询|諮询).{0,14}意见|意见征[集求]|征求意见|意见稿|(?:展开|进行|开展|公众|公开|就.{2,60})[咨谘諮]询(?!热线|机构|委员|公司"
    r"|电话)|[咨谘諮]询文件|草案"
)
_ASKS_EN = (
    r"(?:C?CP|DP) ?\d+/\d+|consult(?:s|ing|ation|ations)\b|proposed (?:rule|rules|rulemaking|regulation"
    r"|regulations|amendments?|order|standard|changes|guidance|policy|"
    r"decision|determination)\b|propos(?:es|ing)\b"
    r"|proposals? (?:for|to|by)\b|^proposals?\b|concept release|rulemaking|have your say"
    r"|call for (?:evidence|input|inputs|views|information|comments?|feedback)|"
    r"discussion papers?|exposure draft|draft (?:\w+ ){0,4}(?:guid\w+|rules?|regulations?|standards?|act|bill"
    r"|code|decision|determination|legislation|RTS|ITS|technical|opinion|order|"
    r"instrument|method\w+|network|plan)|requests? for (?:comments?|information|views|feedback)"
    r"|feedback (?:open|period|sought|invited)|(?:seeks?|invites?|seeking|inviting) (?:\w+ ){0,2}"
    r"(?:views|comments?|feedback|input|submissions)|public comment|green paper|comment period|advance notice"
)
_OF_FINAL_RULES = (
    ActRule(
        Act.LAW,
        r"国务院令|主席令|中华人民共和国[^，。（(]{1,24}(?<!办|方|司|执)法(?:典)?(?:修正案|实施条例)?(?:全文)?(?:》|$|[（(](?!.{0,8}(?:草案|意见稿)))",
        r"(?:regulation|directive) \(EU\) .{0,12}of the european parliament|royal assent|signed into law"
        r"|public law no|(?:^|the )[A-Z][\w ,'-]{3,80} Act 20\d\d\b(?!.{0,60}(?:order|regulations|rules"
        r"|guid|consult|section))"
        r"|enact(?:s|ed|ment)\b",
        unless=r"贯彻|实施.{0,6}情况|宣传|draft|proposal|bill\b|征求|草案",
    ),
    ActRule(
        Act.NATIONAL_PLAN,
        "",
        r"executive order|presidential (?:memorandum|proclamation|action)|proclamation \d"
        r"|national (?:security |energy |industrial )?strategy|white paper|industrial strategy"
        r"|ministry .{0,40}five-year plan",
    ),
    ActRule(
        Act.RULE,
        "",
        r"final rules?\b|^(?:FCA )?PS ?\d+/\d+|order no\. ?\d+|report and order|adopt(?:s|ed"
        r"|ion of) (?:new |final |amended |the )*(?:rules?|amendments?|standards?|regulations?|reforms?"
        r"|requirements?)"
        r"|(?:implementing|delegated|commission|council) regulation|regulation \(e[uc]\)"
        r"|directive \(e[uc]\)|\(amendment(?: no\.? ?\d+)?\) (?:regulations?|rules?|order|instrument|bylaw"
        r"|act|ordinance|notice)"
        r"|(?:regulations?|rules?|order|instrument|determination|legislative instrument"
        r"|by-?laws?) (?:\(.{1,20}\) )?20\d\d\b(?!-)|(?:regulatory|implementing) technical standards"
        r"|(?:sets?|imposes?|introduces?) (?:new |tougher |stricter |tighter )+.{0,30}\b(?:rules?|controls?"
        r"|standards?|requirements?|limits?|restrictions?)\b|(?:rules?|duties|codes?.{0,15}|regime"
        r"|requirements|regulations?) .{0,30}(?:in|into) (?:force|effect)"
        r"|regulations amending|remak(?:es|ing) .{0,30}(?:order"
        r"|instrument|relief)|final (?:decision|determination) on|ACER decision"
        r"|(?:regulatory|telecom|broadcasting) policy .{0,8}20\d\d|prudential standards? [A-Z]{3}"
        r"|notice (?:\d{3}[A-Z]?|[A-Z]{2,4}-N\d+)|finali[sz](?:es|ed|ing) .{0,40}(?:rules?|standards?"
        r"|regulations?|requirements?|changes|framework|regime)\b"
        r"|(?:definitive|provisional) (?:anti-dumping|countervailing)|final RTS|entity list"
        r"|export controls?|section 301|section 232|emergency order",
        unless=r"draft|proposed|proposes|proposal|consult|implementing decision",
    ),
)

_OF_CONSULTATIONS = (
    ActRule(
        Act.DRAFT_LAW,
        r"(?<![办方做])法[（(《]?(?:草案|修订草案|修正草案|征求意见稿|修订征求意见稿)|法律?草案|条例(?:草案|[（(][^）)]{0,8}(?:草案|意见稿))|法修[订正]草案",
        r"proposal for a (?:regulation|directive|decision)|commission proposes"
        r"|proposes .{0,80}\b(?:directive|regulation|legislation|law|act)\b|\bbill \[|bill (?:introduced"
        r"|published|20\d\d)|\bbill\b.{0,30}(?:reading|introduced|gazetted)|draft (?:bill|legislation"
        r"|act)\b",
    ),
    ActRule(
        Act.DRAFT_STANDARD,
        rf"标准.{{0,40}}(?:{_ASKS})|(?:规范|规程|导则|技术要求|能效限定值|限值).{{0,20}}意见稿",
        unless=r"办法|规定",
    ),
    ActRule(
        Act.POLICY,
        r"[咨谘諮]询总结",
        r"final report on .{0,40}(?:technical standards|guidelines|RTS|ITS)|consultation (?:conclusions?"
        r"|outcome|response)|feedback statement|response to (?:the )?consultation|(?:government|authority"
        r"|agency) response|response to feedback"
        r"|summary of responses|FS\d+/\d+",
    ),
    ActRule(Act.CONSULTATION, _ASKS, _ASKS_EN, unless=r"座谈会|选题|(?:final|adopted) (?:report|guid)"),
)

_OF_ADMINISTRATION = (
    ActRule(
        Act.WARNING,
        r"风险提示|警示名单|警惕|谨防|诈骗|可疑网站|虚假网站|仿冒|伪冒|提防|消费提示|消费警示|不法分子|非法集资",
        r"warning:|not authori[sz]ed|unauthori[sz]ed (?:firm|entit|business|compan)|clone (?:of|firm)"
        r"|scams?\b|(?:investor|consumer|fraud) (?:alert|bulletin|advisory)|fraudulent|beware"
        r"|warns? (?:consumers|investors|the public|against|about)|phishing"
        r"|suspicious website"
        r"|fake (?:website|app)",
        unless=OF_A_FORM,
    ),
    ActRule(
        Act.RECALL,
        r"召回|不合格|监督抽[查检]|抽检|抽样检验",
        r"recalls?\b|safety alert|unsafe product|field safety",
        unless=OF_A_FORM + r"|(?:加强|规范|完善|强化|做好).{2,60}的?(?:通知|公告|意见)",
    ),
    ActRule(Act.POLICY, r"^国务院关于.{2,80}的批复"),
    ActRule(
        Act.FILING,
        r"(?:探矿权|采矿权|矿业权|土地使用权|建设用地).{0,60}(?:出让|挂牌|拍卖|结果)|变更(?:注册资本|名称"
        r"|住所|股权|营业场所)|修改.{0,8}章程|(?<!终止)上市(?:交易|仪式)?的?公告|开业的?批复"
        r"|登记(?:信息)?公告|建议的?答复|提案的?答复|信访",
    ),
    ActRule(
        Act.APPROVAL,
        rf"(?:批复|核准|复函|准予|许可决定){TAIL}$|核准(?:批复|决定)|核准.{{1,40}}(?:许可证|设立|发行)|同意.{{2,40}}(?:注册|设立|变更|开业"
        rf"|筹建|合并)|注销|许可证?.{{0,8}}(?:颁发|公告|公示|情况|核发)|上市(?:交易|仪式)?的?(?:公告|决定)"
        r"|终止.{2,40}(?:上市|挂牌)|经营者集中.{0,10}(?:案|公示|批准)|审批(?:决定|意见)|受理(?:公示|公告"
        r"|情况|通知)|竣工|验收|(?:环评|环境影响).{0,24}(?:公示|公告|批复|受理|审批)|批准.{1,40}(?:上市"
        r"|注册|进口|挂牌)|审议会议(?:结果|公告)|审核结果"
        r"|备案(?:信息|公告|公示|情况|名单)|上市批准|批准(?:上市|注册)|登记(?:信息)?公告|用地预审"
        r"|(?:水土保持|节能审查|规划许可).{0,10}(?:公示|公告|决定)|颁发.{0,12}(?:证|牌照)|建议的?答复"
        r"|提案的?答复|信访",
        r"mergers?: |clears? .{0,40}(?:acquisition|merger|deal)|(?:approves?|approval of"
        r"|approving) .{0,60}(?:therapy|vaccine|acquisition|joint venture|merger|application|scheme"
        r"|stipulation|licen[cs]e|plan of|drug|device|treatment|project|transfer)|state aid:"
        r"|concentration\b|approves\b|clears\b|grants (?:accelerated|conditional)|planning consent"
        r"|development consent|permit application|recommends? .{0,30}(?:drug|treatment)|(?:not"
        r"|no longer) oppose"
        r"|investigation into .{0,30}(?:acquisition|merger|deal)"
        r"|order (?:issuing|granting|approving|denying|on rehearing|accepting)|certificate|authori[sz]ing\b"
        r"|authori[sz]es\b|licen[cs]es? (?:granted|issued|renewal|transfer)|grants? (?:a |an "
        r"|its )?(?:licen|exempt|approval|waiver|banking|relief|permission)"
        r"|exemptive|exemption order|no-action|phase (?:1|2|one|two)\b|premarket|emergency use|consents? to"
        r"|anticipated acquisition|completed acquisition|, (?:LLC|L\.?P\.?|Inc\.?|Ltd)\b.{0,6};",
        unless=OF_A_FORM + r"|(?:条例|办法|规定|基准|标准|权限|改革)|(?:rules?|guidance|methodology|standards)\b",
    ),
)


_OF_RULES = (
    ActRule(
        Act.NATIONAL_PLAN,
        r"(?:国务院|中共中央|中央办公厅|国办|中办|全国人大|全国人民代表大会)[^，。]{0,80}(?:意见|规划|方案"
        r"|纲要|计划|决定|措施|通知)|五年规划|中长期.{0,10}规划|现代化.{0,12}规划纲要|国家.{2,20}(?:战略"
        r"|发展规划)"
        r"|“?十[五六]五”?.{0,30}规划",
        unless=r"国务院(?:国资委|办公厅秘书局|令)|贯彻|落实|批复|国资委",
    ),
    ActRule(
        Act.TERMS,
        r"负面清单|产业结构调整指导目录|鼓励(?:外商投资|类)|(?:禁止|限制|管制).{0,12}(?:目录|清单|名录)"
        r"|(?:医疗保险|医保).{0,6}目录|(?:上调|下调|提高|降低|下调金融机构).{0,20}(?:准备金率|利率|税率"
        r"|电价|价格)|出口管制|不可靠实体|反倾销|反补贴|保障措施"
        r"|(?:税率|关税|税收|增值税|消费税|所得税|退税|电价|价格机制|定价|费率|收费标准|收费政策|收费"
        r"|补贴政策|准备金|保证金|配额|资本金|存款利率|利率|风险权重|消纳责任权重|最低工资"
        r"|缴费)[^，。]{0,40}(?:通知|公告|决定|政策|通告)"
        r"|(?:调整|完善|降低|提高|取消|减免|延续)[^，。]{0,40}(?:税|电价|价格机制|费率|收费|补贴|比例|标准|限额|额度|准入|认证)[^，。]{0,30}(?:通知|公告|决定|通告)",
        r"tariffs? on|tariff .{0,20}(?:exclusion|quota|suspension)|duties on|restrictive measures"
        r"|package of sanctions|(?:export|import) ban\b|price cap"
        r"|allowed (?:revenue|return)|(?:tax|fee|levy|tariff|duty"
        r"|wage) (?:rates?|credits?|relief|changes|schedule|increase|order)|(?:new|higher|lower"
        r"|increas\w{1,3}|rais\w{1,3}|cut\w{0,4}|reduc\w{1,3}|chang\w{1,3}|set\w{0,4}"
        r"|adjust\w{0,4}) .{0,40}\b(?:tariffs?|levy|fees?|tax\w{0,4}|rates|capital requirements?"
        r"|minimum wage)\b",
        unless=r"成品油|调查的公告|到期|statistics|国标委|标准.{0,6}(?:计划|编号)|report|analysis",
    ),
    ActRule(
        Act.RULE,
        rf"令.{{0,4}}第.{{1,5}}号|公布.{{0,10}}令|修改.{{2,80}}(?:的)?决定|{BINDING_FORM}{TAIL}(?:的(?:通知"
        rf"|公告|通告|决定|命令|令|函))?{TAIL}$|(?:规则|办法|规定|准则|条例"
        rf"|细则)(?:第.{{1,5}}号)?(?:[（(][^）)》]{{0,30}}[）)])?[：:—-]{{0,2}}[^《》]{{0,30}}》|实施方案》",
        unless=r"标准化|举报|征文",
    ),
    ActRule(Act.RULE, r"适用法律.{0,12}(?:解释|规定|意见)|司法解释"),
)

_OF_STANDARDS = (
    ActRule(Act.EXECUTION, r"标准.{0,12}(?:计划|立项|制修订项目|复审)", unless=r"意见稿"),
    ActRule(
        Act.BINDING_STANDARD,
        r"强制性(?:国家)?标准|强制性产品认证|(?<![A-Z/])GB ?\d{3,}|排放标准|(?:排放|能效)?限(?:定)?值|标准.{0,10}修改单"
        r"|地方标准.{0,40}排放",
        r"(?:emission|conservation|efficiency|performance|air quality|drinking water|vehicle safety) standards\b",
        unless=r"废止|推荐性国家标准和",
    ),
    ActRule(
        Act.STANDARD,
        r"(?:国家|行业|地方|团体)标准|标准(?!化|厅)|(?:技术|设计|验收|施工|操作|工作|服务|管理|检测"
        r"|建设)规范|规范(?:[（(》]|$|的(?:公告|通知))|规程|导则|技术要求|评价方法|GB/T|[A-Z]{2}/T",
        r"(?:ISO|IEC|EN|BS|AASB|IFRS|IAS|ASTM) ?[A-Z]?\d|standards?\b|codes? of (?:practice|conduct)"
        r"|technical specifications?",
    ),
)

_OF_WORK = (
    ActRule(Act.SUPERVISION, "", r"directs\b|changes to .{0,40}(?:rules|regulations)"),
    ActRule(
        Act.GUIDANCE,
        "",
        r"guidance|guidelines?\b|handbook notice|delay(?:s|ed)?\b|deferral|postpone|no longer require"
        r"|FG ?\d+/\d+|policy statement on|commission notice|thematic review|multi-firm review"
        r"|good (?:and poor )?practice|practice (?:note|statement)|information sheet|RG \d+|bulletin no"
        r"|advisory opinion|opinions? (?:on|to|\d)|staff letter|practice guide|recommendations? (?:on|of)"
        r"|\bguide (?:on|to)"
        r"|(?:joint|public|supervisory|regulatory|PRA|FCA) statement on|^statement on|interpretive"
        r"|staff (?:notice|bulletin)",
    ),
    ActRule(Act.APPLICATION, r"(?:推荐|申报|遴选|征集)(?:工作)?(?:有关事项)?的?(?:通知|公告)$"),
    ActRule(
        Act.LIST,
        r"名单|名录|入选|拟.{0,12}(?:公示|名单)|结果.{0,6}公示|公示{0,1}$|第[^，。]{1,4}批.{0,20}(?:公示|公告|目录)|目录(?:公示|公告|（第)|公示[（(]",
        r"list of|register of|updated? list|shortlist|successful (?:applicants|bidders)"
        r"|selected (?:projects|applicants)|results of the .{0,30}(?:auction|round)|(?:auction|round"
        r"|allocation).{0,20}results|award(?:s|ed) .{0,40}(?:grants?|funding)|announces .{0,40}(?:grants?"
        r"|funding) (?:to|for)",
    ),
    ActRule(
        Act.APPLICATION,
        r"申报|试点|示范|揭榜|征集.{0,20}(?:项目|案例|单位|产品|需求)|专项资金|扶持|奖补|奖励资金|补贴申|申领|申请(?:指南|受理|工作)|报名|竞争性配置|竞价|资助|沙盒|招商",
        r"funding opportunit|grants?\b|call for (?:proposals|applications|projects|expressions)|auctions?\b"
        r"|applications? (?:open|now open|invited|window)|open call|sandbox|pilots?\b|innovation fund"
        r"|expressions? of interest|(?:round|scheme|fund|window) .{0,12}\b(?:opens?|launch\w*)"
        r"|licensing round|announces? .{0,4}[\d.]+ (?:billion|million) (?:for|to|in)\b"
        r"|subsid(?:y|ies)|funding (?:round|available|call|program)|incentives?\b|competition (?:opens"
        r"|launched)|^apply (?:for|now)|request for proposals|launch\w* .{0,30}\bcalls?\b",
        unless=r"(?:实施|工作|行动|总体|建设)方案》?(?:的|$)|指导意见|管理办法",
    ),
    ActRule(
        Act.EXECUTION, r"成品油价格|成品油.{0,4}调价|休市|放假|节假日", r"sanctions?\b|national emergency|reminder"
    ),
    ActRule(
        Act.DATA,
        r"数据(?!安全|要素|中心|资源|出境|跨境|产业|基础|治理|知识|条例|流通|标注|集|管理)|统计|指数|排名"
        r"|月报|季报|年报|公报|快报|运行情况|情况表|质量状况|合格率|发展情况|收支情况|完成情况|同比|环比"
        r"|增长|下降|增速|[\d.]+[%％]|监测"
        r"|走势|报价利率|调查结果|概况|满意度|行情|成交信息|储备资产|预算执行|决算|CPI|PPI|PMI|存煤|可用天数|社会融资|进出口"
        r"|(?:月份?|季度|上半年|全年|旬).{0,24}(?:情况|数据|形势)|突破[\d.]+[万亿]|累计|规模达|创.{0,4}新高",
        r"statistic|data\b(?! (?:brokers?|storage|protection|sharing|act|privacy|cent|access|govern|breach"
        r"|security|portab))|index\b|inflation|consumer prices?\b|(?:production|sales|output|prices?"
        r"|exports?|imports?"
        r"|employment|spending|approvals|confidence|demand|volumes?|turnover|gdp)\b.{0,20} (?:up|down|rise"
        r"|rises|fall|falls|fell|rose|grew|increase[ds]?|decrease[ds]?|unchanged)\b"
        r"|[\d.]+ ?(?:%|per cent|percent)|quarterly|monthly|half-yearly|figures\b|indicators|gdp"
        r"|unemployment|retail sales|balance of payments|trends\b|ratings?\b|dashboard|(?:first|second|third"
        r"|fourth) quarter|(?:Q[1-4]|H[12]) 20\d\d|consolidated .{0,20}release",
        unless=OF_A_FORM + r"|(?:关于|加强|做好).{2,60}(?:通知|意见)$|guidance",
    ),
    ActRule(
        Act.REPORT,
        r"报告(?!制度|管理|规定|核查|指南|书|工作)|白皮书|蓝皮书|研究|展望|评估结果|形势",
        r"reports?\b|assessment\b|outlook|reviews?\b|surveys?\b|research|working paper|occasional paper"
        r"|stud(?:y|ies)\b|findings|insights?\b|analysis|market watch|beige book|evaluation|annual plan"
        r"|business plan|corporate plan|work programme",
        unless=OF_A_FORM + r"|的(?:通知|公告|意见|通告)$|reporting",
    ),
    ActRule(
        Act.SUPERVISION,
        "",
        r"dear (?:ceo|cfo|chair|colleague|board|sir|remco)|letters? (?:to|on)\b|portfolio letter"
        r"|circulars?\b|supervisory (?:statement|expectations?|priorities"
        r"|policy|letter)|SS ?\d+/\d+|expectations\b"
        r"|regulatory (?:notice|guide)|notice to (?:industry|firms|all|licensees|importers|exporters)"
        r"|relief\b|reforms?\b|next steps|strategy|priorities|roadmap|framework|decision\b|plan\b|policy",
    ),
)

_OF_NOTICES = (
    ActRule(
        Act.POLICY,
        r"(?:指导意见|实施意见|若干意见|意见|若干措施|措施|行动方案|行动计划|实施方案|工作方案|总体方案|方案|规划|计划|纲要|指引|指南|路线图)"
        rf"{TAIL}(?:的(?:通知|公告|通告|函))?{TAIL}$|通函|指引",
    ),
    ActRule(
        Act.SUPERVISION,
        r"(?:规范|加强|严格|强化|进一步|完善|优化|改进|明确|调整|执行|实施|推进|促进|支持|深化|加快|健全"
        r"|建立|推动|取消|暂停|降低|提高|限制|禁止|恢复|推行|实行|全面|有关事项|政策|适用|认定|权限"
        r"|要求)[^。]{0,80}(?:通知|公告|通告|函|决定)|通函",
        unless=r"(?:专项)?(?:检查|核查|督查|抽查|排查|自查|普查|评估|整治)(?:工作)?的(?:通知|公告)|做好|休市",
    ),
    ActRule(
        Act.EXECUTION,
        r"(?:通知|公告|通告|函|通报|决定|命令|令|通函)"
        + TAIL
        + r"$|专项行动|整治|检查|核查|督查|部署|(?:通知|公告|通告)",
        r"notices?\b|announcement|reminder|order\b|rules?\b|regulations?\b|requirements?\b|amendments?\b",
    ),
)

FURTHER_RULES = (
    *_OF_FINAL_RULES,
    *_OF_CONSULTATIONS,
    *_OF_ADMINISTRATION,
    *_OF_RULES,
    *_OF_STANDARDS,
    *_OF_WORK,
    *OPEN_FORMS,
    *_OF_NOTICES,
)
"""In order: the first that matches decides. What makes a rule comes before what it is about."""
